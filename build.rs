//! Builds the SmartModules that eddy ships, so that the host carries their bytes and one `cargo build` is enough.
//!
//! The guests are built by a cargo of their own, with a target folder of their own (a shared one would deadlock on cargo's lock)
//! and without the flags and wrappers of the host's build. `src/modules.rs` includes the results.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";

/// The profile of the root manifest that is made for guests.
const PROFILE: &str = "guest";

/// Package, file that cargo makes of it, file that the host includes.
const GUESTS: [(&str, &str, &str); 2] = [
    ("eddy-validate", "eddy_validate.wasm", "validate.wasm"),
    ("eddy-classify", "eddy_classify.wasm", "classify.wasm"),
];

/// What a guest is made of.
const SOURCES: [&str; 6] =
    ["build.rs", "Cargo.toml", "Cargo.lock", "smartmodules/contract", "smartmodules/validate", "smartmodules/classify"];

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }

    if !target_is_installed() {
        fail(&format!("the SmartModules need the target {TARGET}\nhint: rustup target add {TARGET}"));
    }
    let target_dir = out.join("guests");
    build_guests(&root, &target_dir);
    for (_, built, shipped) in GUESTS {
        let built = target_dir.join(TARGET).join(PROFILE).join(built);
        if let Err(error) = fs::copy(&built, out.join(shipped)) {
            fail(&format!("cannot copy {}: {error}", built.display()));
        }
    }
}

fn build_guests(root: &Path, target_dir: &Path) {
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(root).args(["build", "--locked", "--profile", PROFILE, "--target", TARGET]);
    cargo.arg("--target-dir").arg(target_dir);
    for (package, ..) in GUESTS {
        cargo.args(["--package", package]);
    }
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(belongs_to_this_build) {
            cargo.env_remove(name);
        }
    }

    match cargo.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => fail(&format!("the SmartModules do not build:\n{}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => fail(&format!("cannot run cargo for the SmartModules: {error}")),
    }
}

/// Whether a variable was set for the host's build and would change the guests'. Where cargo and rustup live, how
/// they reach the network, and the shared job slots stay.
fn belongs_to_this_build(name: &str) -> bool {
    const OF_CARGO: [&str; 8] = ["PKG_", "CFG_", "FEATURE_", "MANIFEST_", "ENCODED_", "BUILD_", "PROFILE_", "TARGET_"];
    const OTHERS: [&str; 12] = [
        "RUSTFLAGS",
        "RUSTC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_LINKER",
        "RUSTDOC",
        "RUSTDOCFLAGS",
        "CLIPPY_ARGS",
        "CARGO_INCREMENTAL",
        "CARGO_PRIMARY_PACKAGE",
        "LLVM_PROFILE_FILE",
        "__CARGO_DEFAULT_LIB_METADATA",
    ];
    let of_cargo = name.strip_prefix("CARGO_").is_some_and(|rest| OF_CARGO.iter().any(|part| rest.starts_with(part)));
    of_cargo || OTHERS.contains(&name)
}

/// rustc knows every target; the question is whether its standard library is here.
fn target_is_installed() -> bool {
    let answer = Command::new(variable("RUSTC")).args(["--print", "target-libdir", "--target", TARGET]).output();
    answer.is_ok_and(|answer| Path::new(String::from_utf8_lossy(&answer.stdout).trim()).is_dir())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| fail(&format!("{name}: {error}")))
}

/// Every line as an error of its own: cargo shows nothing else of a build script.
#[expect(clippy::exit, reason = "a build script fails through its exit code")]
fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    exit(1)
}
