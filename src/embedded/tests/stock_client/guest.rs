//! The SmartModule of these tests, compiled on first use.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// The module's first build; it marks each value with ` (first build)`.
pub(crate) fn first_build() -> &'static [u8] {
    static WASM: OnceLock<Vec<u8>> = OnceLock::new();
    WASM.get_or_init(|| compile("first", &[]))
}

/// The module's second build; it marks each value with ` (second build)`.
pub(crate) fn second_build() -> &'static [u8] {
    static WASM: OnceLock<Vec<u8>> = OnceLock::new();
    WASM.get_or_init(|| compile("second", &["--features", "second-build"]))
}

fn compile(name: &str, features: &[&str]) -> Vec<u8> {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/mark");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest");
    // The second build overwrites the first in the target folder, so no other may come between build and read.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap();

    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--target", "wasm32-unknown-unknown"])
        .args(features)
        .current_dir(guest)
        .env("CARGO_TARGET_DIR", &target)
        // Flags of the host's build are not for the guest.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap();

    let talk = String::from_utf8_lossy(&built.stderr);
    assert!(
        built.status.success(),
        "{name} build of the guest (needs `rustup target add wasm32-unknown-unknown`): {talk}"
    );
    std::fs::read(target.join("wasm32-unknown-unknown/release/mark.wasm")).unwrap()
}
