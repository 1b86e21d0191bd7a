//! A Fluvio cluster in one process: a node on loopback that unmodified Fluvio clients take for an SC and an SPU.
//!
//! It is for trying, developing and testing eddy; production is a Fluvio cluster with nothing changed but the address.
//! It speaks the published protocol (`=0.50.1`), keeps everything on disk, and keeps the awkward habits of a real SPU
//! on purpose: a kinder node would hide the bugs that matter.
//!
//! | module | decides |
//! |---|---|
//! | [`node`] | what is started and stopped, and which directory and addresses it has |
//! | [`meta`] | which topics and SmartModules exist, and who hears of changes |
//! | [`offsets`] | where consumers stand |
//! | [`store`] | how metadata and consumer offsets survive |
//! | `sc` | what an administrator's requests do |
//! | [`data`], [`log`] | how records are kept |
//! | `spu` | how records are produced and fetched, through SmartModules or not |
//! | [`wire`] | frames and batches as bytes |
//!
//! Invariants: nothing is answered before it is durable; nothing outlives its [`node::Node`]; no request of one client
//! can stop another's.
//!
//! It does not replicate, authenticate, encrypt, mirror or deduplicate, and refuses topics that ask for it.

pub mod data;
mod listener;
pub mod log;
pub mod meta;
pub mod node;
pub mod offsets;
mod sc;
mod spu;
pub mod store;
pub mod wire;

pub use node::{Config, Error, Node};
