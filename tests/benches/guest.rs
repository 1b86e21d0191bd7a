//! The module that eddy's are measured against: a map made with Fluvio's macro that only copies.

use std::path::Path;
use std::process::Command;

/// Builds `tests/guests/copy`.
pub(crate) fn copying_module() -> Vec<u8> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    let built = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--locked", "--profile", "guest", "--target", TARGET, "--package", "eddy-guest-copy"])
        .arg("--target-dir")
        .arg(&target_dir)
        .status();
    assert!(built.is_ok_and(|status| status.success()), "tests/guests/copy does not build");
    std::fs::read(target_dir.join(TARGET).join("guest/eddy_guest_copy.wasm")).expect("cargo has just built it")
}
