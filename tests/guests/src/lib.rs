//! The SmartModules that tests and benches run, each compiled when it is first asked for.
//!
//! A cargo of its own builds them, in one folder below the target folder that holds the program which asks: never in
//! that folder itself, whose lock an outer cargo may hold. All suites and benches share the folder, so what the guests
//! depend on is compiled once. Guests that eddy ships are not here: its build script makes those.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{LazyLock, Mutex},
};

const TARGET: &str = "wasm32-unknown-unknown";

/// The profile of the root manifest that is made for guests.
const PROFILE: &str = "guest";

/// Of the environment, what is meant for the build that the asking program came from.
const OF_THE_HOST: [&str; 4] = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_TARGET_DIR"];

/// A map made with Fluvio's own macro that only copies.
pub fn copy() -> &'static [u8] {
    static WASM: LazyLock<Vec<u8>> = LazyLock::new(|| build("eddy-guest-copy", &[]));
    &WASM
}

/// A map made with Fluvio's own macro that fails in the way that a record's value asks for.
pub fn faulty() -> &'static [u8] {
    static WASM: LazyLock<Vec<u8>> = LazyLock::new(|| build("eddy-guest-faulty", &[]));
    &WASM
}

/// A map made with Fluvio's own macro that marks each value with ` (first build)`.
pub fn first_mark() -> &'static [u8] {
    static WASM: LazyLock<Vec<u8>> = LazyLock::new(|| build("eddy-guest-mark", &[]));
    &WASM
}

/// The same module built again; it marks each value with ` (second build)`.
pub fn second_mark() -> &'static [u8] {
    static WASM: LazyLock<Vec<u8>> = LazyLock::new(|| build("eddy-guest-mark", &["--features", "second-build"]));
    &WASM
}

fn build(package: &str, features: &[&str]) -> Vec<u8> {
    // Two builds of one package are one file, so no other may come between build and read.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().expect("a guest that does not build ends the tests");
    let target_dir = target_dir();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["build", "--locked", "--profile", PROFILE, "--target", TARGET, "--package", package]).args(features);
    cargo.arg("--target-dir").arg(&target_dir);
    for name in OF_THE_HOST {
        cargo.env_remove(name);
    }
    let built = cargo.output().unwrap_or_else(|error| panic!("cannot run cargo for {package}: {error}"));
    let talk = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{package} does not build (it needs `rustup target add {TARGET}`):\n{talk}");
    let wasm = target_dir.join(TARGET).join(PROFILE).join(format!("{}.wasm", package.replace('-', "_")));
    std::fs::read(&wasm).unwrap_or_else(|error| panic!("cargo has not built {}: {error}", wasm.display()))
}

/// `target/tmp/guests` of the target folder whose `PROFILE/deps` holds this program.
fn target_dir() -> PathBuf {
    let program = std::env::current_exe().expect("a program knows its path");
    let target = program.ancestors().nth(3).map(Path::to_owned).expect("cargo runs programs from PROFILE/deps");
    target.join("tmp/guests")
}
