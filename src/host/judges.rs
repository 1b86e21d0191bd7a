//! Who judges: the modules that the cluster has, and the plain functions that they were built from.
//!
//! The cluster's bytes are read once, at start, and travel with every stream. The plain functions judge what a module
//! cannot, with the same parameters.

use std::sync::Arc;

use eddy_contract::RecordView;
use eddy_topology::{definition::ModuleDefinition, names::TopicName};

use super::{Error, Shared};
use crate::{
    broker::{
        Record, admin,
        judged::{Fallback, Judge, Judging, Module, STALL_AFTER},
    },
    modules::{self, build_id},
};

/// The judges of both judged roads.
pub(super) struct Judges {
    pub(super) validate: Judging,
    pub(super) classify: Judging,
}

impl Judges {
    /// Reads the cluster's modules.
    pub(super) async fn load(shared: &Shared) -> Result<Self, Error> {
        let names = shared.topology.names();
        let definitions = shared.topology.modules();
        let validate = modules::validate_params(definitions)?;
        let classify = modules::classify_params(definitions)?;
        let validate: Arc<Judge> = Arc::new(move |record: &Record| judge(record, &validate, eddy_validate::judge));
        let classify: Arc<Judge> = Arc::new(move |record: &Record| judge(record, &classify, eddy_classify::judge));
        Ok(Self {
            validate: judging(shared, &names.validate, &definitions.validate, validate).await?,
            classify: judging(shared, &names.classify, &definitions.classify, classify).await?,
        })
    }
}

async fn judging(
    shared: &Shared,
    name: &TopicName,
    definition: &ModuleDefinition,
    judge: Arc<Judge>,
) -> Result<Judging, Error> {
    let uploaded = admin::module(&shared.cluster, name.as_str()).await?;
    let build = build_id(&uploaded.wasm, &definition.params);
    let module = Module {
        name: name.as_str().to_owned(),
        wasm: uploaded.wasm,
        build: build.into(),
        params: definition.params.clone(),
    };
    let fallback = Fallback { judge, build: concat!("eddy-", env!("CARGO_PKG_VERSION")).into() };
    Ok(Judging { module, fallback, stall_after: STALL_AFTER })
}

fn judge<P>(record: &Record, params: &P, judge: impl Fn(RecordView<'_>, &P, &mut Vec<u8>)) -> Vec<u8> {
    let mut output = Vec::with_capacity(record.value.len() + 256);
    let view = RecordView {
        key: record.key.as_deref(),
        value: &record.value,
        offset: record.offset,
        timestamp_ms: record.timestamp_ms,
    };
    judge(view, params, &mut output);
    output
}
