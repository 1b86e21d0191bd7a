//! What eddy promises about every record, told in virtual time.
//!
//! Each file is one subject. `C…` names the public complaint, about other retry and dead-letter systems, that a test
//! makes sure not to deserve.

mod bad_records;
mod conservation;
mod definitions;
mod effects_once;
mod keys_and_bytes;
mod order;
mod outages;
mod retries;
mod settling;
