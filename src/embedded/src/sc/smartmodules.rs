//! SmartModules: created or replaced, and deleted.
//!
//! As in a real cluster a `create` is an upsert, nobody looks into the bytes, and a module with package metadata is
//! kept under its package's name instead of the one in the request.

use fluvio_controlplane_metadata::smartmodule::{SmartModulePackageKey, SmartModuleSpec};

use super::{Cluster, Error};
use crate::meta::rules::check_smartmodule;

/// Creates a SmartModule or replaces its build; with `dry_run` only says whether it would be taken.
pub(super) async fn create(
    cluster: &Cluster,
    name: &str,
    mut spec: SmartModuleSpec,
    dry_run: bool,
) -> Result<(), Error> {
    let _changing = cluster.meta.changes.lock().await;
    let key = spec.meta.as_ref().map_or_else(|| name.to_owned(), |meta| meta.store_id());
    check_smartmodule(&key, &spec)?;
    if dry_run {
        return Ok(());
    }
    // A summary is what the node tells, never what it is told.
    spec.summary = None;
    cluster.meta.put_smartmodule(&key, spec).await?;
    tracing::info!(smartmodule = key, "SmartModule created.");
    Ok(())
}

/// Deletes a SmartModule, named plainly or by `group/name@version`. Streams that run it go on.
pub(super) async fn delete(cluster: &Cluster, name: &str) -> Result<(), Error> {
    let _changing = cluster.meta.changes.lock().await;
    let unknown = || Error::SmartModuleUnknown(name.to_owned());
    let key = SmartModulePackageKey::from_qualified_name(name).map_err(|_| unknown())?.store_id();
    if !cluster.meta.smartmodules().iter().any(|(known, _)| *known == key) {
        return Err(unknown());
    }
    cluster.meta.remove_smartmodule(&key).await?;
    tracing::info!(smartmodule = key, "SmartModule deleted.");
    Ok(())
}
