//! The functions that Fluvio's engine calls in a module: `alloc`, `init` and `map`.
//!
//! The engine asks `alloc` for room, copies a batch there, calls `map`, and after the call has returned reads what
//! `map` announced through `copy_records`. It never frees anything, so nothing here is given away: two buffers grow to
//! the largest batch seen and are used again.

use std::sync::{Mutex, PoisonError};

use super::{Module, batch};

/// `init` could not read its input; the engine's number for it.
const INIT_DECODING: i32 = -10;

/// `init` refuses its parameters; the engine then reads why.
const INIT_REFUSED: i32 = -2;

#[expect(unsafe_code, reason = "an import of the engine")]
// SAFETY: the engine only notes the two numbers and reads its guest's memory later, within its bounds.
unsafe extern "C" {
    safe fn copy_records(start: *const u8, length: usize);
}

/// A module instance: its parameters and the buffers that live as long as it does.
pub struct Guest<M>(Mutex<State<M>>);

struct State<M> {
    module: Option<M>,
    input: Vec<u8>,
    value: Vec<u8>,
    output: Vec<u8>,
}

impl<M: Module> Guest<M> {
    /// An instance before `init`.
    pub const fn new() -> Self {
        Self(Mutex::new(State { module: None, input: Vec::new(), value: Vec::new(), output: Vec::new() }))
    }

    /// Room for an input of `length` bytes. Valid until the next call of any of these functions.
    pub fn alloc(&self, length: usize) -> *mut u8 {
        self.with(|state| {
            if state.input.len() < length {
                state.input.resize(length, 0);
            }
            state.input.as_mut_ptr()
        })
    }

    /// Takes the parameters over.
    pub fn init(&self, start: *const u8, length: usize) -> i32 {
        self.with(|state| {
            let Some(params) = announced(&state.input, start, length).and_then(batch::decode_params) else {
                return INIT_DECODING;
            };
            match M::with_params(&params) {
                Ok(module) => {
                    state.module = Some(module);
                    0
                }
                Err(error) => {
                    state.output.clear();
                    batch::encode_init_error(&error.to_string(), &mut state.output);
                    copy_records(state.output.as_ptr(), state.output.len());
                    INIT_REFUSED
                }
            }
        })
    }

    /// Judges a batch and announces the output.
    pub fn map(&self, start: *const u8, length: usize, version: i32) -> i32 {
        self.with(|state| {
            let State { module: Some(module), input, value, output } = state else {
                return batch::Status::BaseInput as i32;
            };
            let (Some(input), Ok(version)) = (announced(input, start, length), i16::try_from(version)) else {
                return batch::Status::BaseInput as i32;
            };
            output.clear();
            match batch::map(module, input, version, value, output) {
                Ok(count) => {
                    copy_records(output.as_ptr(), output.len());
                    count
                }
                Err(status) => status as i32,
            }
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State<M>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<M: Module> Default for Guest<M> {
    fn default() -> Self {
        Self::new()
    }
}

/// What the engine wrote, provided that it wrote where `alloc` told it to.
fn announced(input: &[u8], start: *const u8, length: usize) -> Option<&[u8]> {
    if std::ptr::eq(start, input.as_ptr()) { input.get(..length) } else { None }
}

/// Exports a [`Module`] under the names that Fluvio's engine looks for. For a crate that is a module, once.
#[macro_export]
macro_rules! export_module {
    ($module:ty) => {
        #[expect(unsafe_code, reason = "the engine finds a module's functions by their plain names")]
        mod exports {
            use $crate::guest::entry::Guest;

            static GUEST: Guest<$module> = Guest::new();

            // SAFETY, of all three: a module is a program of its own, and no other function in it has this name.
            #[unsafe(no_mangle)]
            extern "C" fn alloc(length: usize) -> *mut u8 {
                GUEST.alloc(length)
            }

            #[unsafe(no_mangle)]
            extern "C" fn init(start: *const u8, length: usize, _version: i32) -> i32 {
                GUEST.init(start, length)
            }

            #[unsafe(no_mangle)]
            extern "C" fn map(start: *const u8, length: usize, version: i32) -> i32 {
                GUEST.map(start, length, version)
            }
        }
    };
}
