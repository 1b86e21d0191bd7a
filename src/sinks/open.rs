//! The sink that a definition names.
//!
//! `[sink.options]` is read here, because only the kind of sink knows its options:
//!
//! | kind | option | meaning |
//! |---|---|---|
//! | webhook | `connect_timeout` | how long a connect may take, `"3s"` |
//! | webhook | `headers` | tables of `name` and one of `value`, `value_env`, `value_file` |
//! | topic | `form` | `"original"` (the default) or `"envelope"` |

use std::{path::PathBuf, sync::Arc};

use eddy_topology::{
    definition::{SinkDefinition, SinkKind},
    names::{NameError, TopicName},
    time::Span,
    topology::Topology,
};
use futures_util::{FutureExt, future::BoxFuture};
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    Append, AppendError, Form, Header, Sink, Stdout, TopicSink, Webhook, WebhookSettings, WebhookSettingsError,
};
use crate::{
    broker::{self, Cluster, Entry, WriteError, Writer},
    config::{Secret, SecretError},
};

/// Why a sink cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the definition names no `sink.{0}`")]
    NoTarget(&'static str),
    #[error("`sink.options`: {}", .0.message())]
    Options(toml::de::Error),
    #[error("header `{0}` needs exactly one of `value`, `value_env` and `value_file`")]
    HeaderValue(String),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Webhook(#[from] WebhookSettingsError),
    #[error("`sink.topic`: {0}")]
    Topic(#[from] NameError),
    #[error(transparent)]
    Broker(#[from] broker::Error),
    #[error("standard output cannot be written to: {0}")]
    Stdout(#[source] std::io::Error),
}

impl OpenError {
    /// What a person can do about it, where we know.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTarget(_) => Some("set it in the definition, or with --set or EDDY_SINK__…"),
            Self::Webhook(error) => error.hint(),
            Self::Broker(error) => error.hint(),
            Self::Options(_) | Self::HeaderValue(_) | Self::Secret(_) | Self::Topic(_) | Self::Stdout(_) => None,
        }
    }
}

/// Opens the sink of `topology`; a topic sink writes to `cluster`.
///
/// # Errors
/// When the definition lacks something that the sink needs, or its target topic does not exist.
pub async fn open(topology: &Topology, cluster: &Cluster) -> Result<Arc<dyn Sink>, OpenError> {
    let sink = topology.sink();
    match topology.sink_kind() {
        SinkKind::Webhook => Ok(Arc::new(Webhook::new(webhook(sink, connections_max(topology))?)?)),
        SinkKind::Topic => {
            let target = sink.topic.as_deref().ok_or(OpenError::NoTarget("topic"))?;
            let target = TopicName::try_new(target)?;
            let missing = || broker::Error::TopicMissing { topic: target.as_str().to_owned() };
            let partitions = cluster.partitions(target.as_str()).await?.ok_or_else(missing)?;
            let TopicOptions { form } = options(sink)?;
            let writer = Arc::new(Writer::new(cluster));
            Ok(Arc::new(TopicSink::new(&sink.name, target, partitions, form.into(), writer)))
        }
        SinkKind::Stdout => {
            let NoOptions {} = options(sink)?;
            Ok(Arc::new(Stdout::new(&sink.name).map_err(OpenError::Stdout)?))
        }
    }
}

/// What can be said against the sink of `topology` without opening it: its address, if it has one, and its options.
/// Secrets are not read, because they may be those of another machine.
///
/// # Errors
/// When it could not be opened anywhere.
pub fn check(topology: &Topology) -> Result<(), OpenError> {
    let sink = topology.sink();
    match topology.sink_kind() {
        SinkKind::Webhook => {
            let WebhookOptions { headers, .. } = options(sink)?;
            headers.iter().try_for_each(HeaderOption::check)?;
            if let Some(url) = &sink.url {
                WebhookSettings::new(&sink.name, url).target()?;
            }
        }
        SinkKind::Topic => {
            let TopicOptions { form: _ } = options(sink)?;
        }
        SinkKind::Stdout => {
            let NoOptions {} = options(sink)?;
        }
    }
    Ok(())
}

/// As many as deliveries can be on their way at once: intake and tiers of every partition.
fn connections_max(topology: &Topology) -> usize {
    let roads = 1 + topology.schedule().tiers().len();
    topology.in_flight_max() * roads * topology.partitions() as usize
}

fn options<T: DeserializeOwned>(sink: &SinkDefinition) -> Result<T, OpenError> {
    sink.options.clone().try_into().map_err(OpenError::Options)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookOptions {
    connect_timeout: Option<Span>,
    #[serde(default)]
    headers: Vec<HeaderOption>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderOption {
    name: String,
    value: Option<String>,
    value_env: Option<String>,
    value_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicOptions {
    #[serde(default)]
    form: FormOption,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FormOption {
    #[default]
    Original,
    Envelope,
}

impl From<FormOption> for Form {
    fn from(form: FormOption) -> Self {
        match form {
            FormOption::Original => Self::Original,
            FormOption::Envelope => Self::Envelope,
        }
    }
}

fn webhook(sink: &SinkDefinition, connections_max: usize) -> Result<WebhookSettings, OpenError> {
    let url = sink.url.as_deref().ok_or(OpenError::NoTarget("url"))?;
    let options: WebhookOptions = options(sink)?;
    let mut settings = WebhookSettings::new(&sink.name, url);
    settings.timeout = sink.timeout.into();
    settings.connections_max = connections_max;
    if let Some(connect_timeout) = options.connect_timeout {
        settings.connect_timeout = connect_timeout.into();
    }
    settings.headers = options.headers.into_iter().map(HeaderOption::read).collect::<Result<_, _>>()?;
    Ok(settings)
}

impl HeaderOption {
    /// Whether it names a header and one place of its value.
    fn check(&self) -> Result<(), OpenError> {
        let places = [self.value.is_some(), self.value_env.is_some(), self.value_file.is_some()];
        if places.into_iter().filter(|is_named| *is_named).count() != 1 {
            return Err(OpenError::HeaderValue(self.name.clone()));
        }
        Header::try_new(&self.name, self.value.as_deref().unwrap_or_default())?;
        Ok(())
    }

    fn read(self) -> Result<Header, OpenError> {
        let secret = match (self.value, self.value_env, self.value_file) {
            (Some(value), None, None) => return Ok(Header::try_new(&self.name, &value)?),
            (None, Some(variable), None) => Secret::from_env(&variable)?,
            (None, None, Some(path)) => Secret::from_file(&path)?,
            _ => return Err(OpenError::HeaderValue(self.name)),
        };
        Ok(Header::try_new(&self.name, secret.expose())?)
    }
}

impl Append for Writer {
    fn append(
        &self,
        topic: &TopicName,
        partition: u32,
        records: Vec<Entry>,
    ) -> BoxFuture<'static, Vec<Result<i64, AppendError>>> {
        let (writer, topic) = (self.clone(), topic.clone());
        async move {
            let results = writer.write_each(topic.as_str(), partition, records).await;
            results.into_iter().map(|result| Ok(result?)).collect()
        }
        .boxed()
    }
}

impl From<WriteError> for AppendError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Refused { reason } => Self::Refused(reason.to_string()),
            WriteError::Unknown { reason } => Self::Unacknowledged(reason.to_string()),
            WriteError::TooLarge { bytes } => Self::TooLarge { size_bytes: bytes },
        }
    }
}
