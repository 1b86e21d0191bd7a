//! The SmartModules as the SPU knows them: a little late.
//!
//! In a real cluster a new build travels from SC to SPU without an acknowledgement. A stream that opens right after
//! `create` still gets the old build, or `SmartModuleNotFound` when the name is new. Tests must meet that, so the node
//! keeps the habit: a change becomes visible to streams only when its delay is over.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fluvio_controlplane_metadata::smartmodule::{SmartModulePackageKey, SmartModuleSpec};

#[derive(Debug)]
pub(super) struct SpuView {
    modules: BTreeMap<String, Arc<SmartModuleSpec>>,
    on_the_way: VecDeque<Change>,
    delay: Duration,
}

#[derive(Debug)]
struct Change {
    arrives: Instant,
    key: String,
    spec: Option<Arc<SmartModuleSpec>>,
}

impl SpuView {
    pub(super) fn new(modules: BTreeMap<String, Arc<SmartModuleSpec>>, delay: Duration) -> Self {
        Self { modules, on_the_way: VecDeque::new(), delay }
    }

    /// Sends a new build, or with `None` a deletion, on its way.
    pub(super) fn change(&mut self, now: Instant, key: String, spec: Option<Arc<SmartModuleSpec>>) {
        self.arrive(now);
        self.on_the_way.push_back(Change { arrives: now + self.delay, key, spec });
    }

    /// The module of that name which has arrived; a qualified name must match in full, the first match wins.
    pub(super) fn find(&mut self, name: &str, now: Instant) -> Option<Arc<SmartModuleSpec>> {
        self.arrive(now);
        let wanted = SmartModulePackageKey::from_qualified_name(name).ok()?;
        let matches =
            |key: &str, spec: &SmartModuleSpec| wanted.is_match(key, spec.meta.as_ref().map(|meta| &meta.package));
        self.modules.iter().find(|(key, spec)| matches(key, spec)).map(|(_, spec)| Arc::clone(spec))
    }

    fn arrive(&mut self, now: Instant) {
        while self.on_the_way.front().is_some_and(|change| change.arrives <= now) {
            let Some(Change { key, spec, .. }) = self.on_the_way.pop_front() else { break };
            match spec {
                Some(spec) => drop(self.modules.insert(key, spec)),
                None => drop(self.modules.remove(&key)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fluvio_controlplane_metadata::smartmodule::SmartModuleWasm;

    use super::*;

    const DELAY: Duration = Duration::from_millis(200);

    fn build(payload: &[u8]) -> Arc<SmartModuleSpec> {
        Arc::new(SmartModuleSpec {
            wasm: SmartModuleWasm::from_compressed_gzip(payload.to_vec()),
            ..SmartModuleSpec::default()
        })
    }

    #[test]
    fn a_new_name_is_unknown_until_its_delay_is_over() {
        let start = Instant::now();
        let mut view = SpuView::new(BTreeMap::new(), DELAY);

        view.change(start, "judge".to_owned(), Some(build(b"one")));

        assert!(view.find("judge", start + DELAY - Duration::from_millis(1)).is_none());
        assert_eq!(view.find("judge", start + DELAY), Some(build(b"one")));
    }

    #[test]
    fn the_old_build_answers_until_the_new_one_arrives() {
        let start = Instant::now();
        let mut view = SpuView::new(BTreeMap::from([("judge".to_owned(), build(b"one"))]), DELAY);

        view.change(start, "judge".to_owned(), Some(build(b"two")));

        assert_eq!(view.find("judge", start), Some(build(b"one")));
        assert_eq!(view.find("judge", start + DELAY), Some(build(b"two")));
    }

    #[test]
    fn a_deleted_module_answers_until_the_deletion_arrives() {
        let start = Instant::now();
        let mut view = SpuView::new(BTreeMap::from([("judge".to_owned(), build(b"one"))]), DELAY);

        view.change(start, "judge".to_owned(), None);

        assert_eq!(view.find("judge", start), Some(build(b"one")));
        assert_eq!(view.find("judge", start + DELAY), None);
    }
}
