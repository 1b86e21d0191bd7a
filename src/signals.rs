//! The signals that end a run gracefully.

use tokio::signal::unix::{SignalKind, signal};

/// Ends at the first SIGINT or SIGTERM.
///
/// # Errors
/// When no signal can be waited for.
pub async fn told_to_stop() -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
