//! Devices that live: where each of them is, and what it does next.

use std::fmt::Write;

use super::random::Random;

const NS_PER_S: i64 = 1_000_000_000;

/// Devices per event in a second of event time.
const DEVICES_PER_RATE: usize = 20;

/// How many devices are asked before the second counts as full.
const TRIES_MAX: usize = 32;

/// A place with a fence around it; its middle in millionths of a degree.
#[derive(Debug)]
struct Fence {
    id: &'static str,
    lat_e6: i64,
    lon_e6: i64,
}

/// Places in Rotterdam.
const FENCES: [Fence; 16] = [
    Fence { id: "rtm-centraal", lat_e6: 51_924_400, lon_e6: 4_469_900 },
    Fence { id: "rtm-blaak", lat_e6: 51_919_900, lon_e6: 4_489_100 },
    Fence { id: "rtm-markthal", lat_e6: 51_920_000, lon_e6: 4_486_800 },
    Fence { id: "rtm-erasmusbrug", lat_e6: 51_909_000, lon_e6: 4_486_900 },
    Fence { id: "rtm-kop-van-zuid", lat_e6: 51_906_600, lon_e6: 4_488_700 },
    Fence { id: "rtm-zuidplein", lat_e6: 51_886_900, lon_e6: 4_488_600 },
    Fence { id: "rtm-ahoy", lat_e6: 51_882_600, lon_e6: 4_487_700 },
    Fence { id: "rtm-euromast", lat_e6: 51_905_400, lon_e6: 4_466_600 },
    Fence { id: "rtm-delfshaven", lat_e6: 51_906_900, lon_e6: 4_448_700 },
    Fence { id: "rtm-kralingse-plas", lat_e6: 51_932_100, lon_e6: 4_514_600 },
    Fence { id: "rtm-alexandrium", lat_e6: 51_951_900, lon_e6: 4_551_700 },
    Fence { id: "rtm-airport", lat_e6: 51_956_900, lon_e6: 4_437_200 },
    Fence { id: "rtm-feijenoord", lat_e6: 51_893_900, lon_e6: 4_523_200 },
    Fence { id: "rtm-waalhaven-depot", lat_e6: 51_884_700, lon_e6: 4_424_500 },
    Fence { id: "rtm-europoort-gate-4", lat_e6: 51_951_100, lon_e6: 4_138_500 },
    Fence { id: "rtm-maasvlakte-gate-2", lat_e6: 51_958_300, lon_e6: 4_033_900 },
];

const KINDS: [&str; 4] = ["truck", "van", "bike", "trailer"];

/// What a device does at a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transition {
    Enter,
    Dwell,
    Exit,
}

impl Transition {
    fn as_str(self) -> &'static str {
        match self {
            Self::Enter => "ENTER",
            Self::Dwell => "DWELL",
            Self::Exit => "EXIT",
        }
    }
}

/// All devices and the clock of their events.
#[derive(Debug)]
pub(super) struct Fleet {
    devices: Vec<Device>,
    clock_ns: i64,
    /// The mean time between two events, at least 2.
    step_ns: i64,
}

/// One device; its index in the fleet is its number.
#[derive(Debug, Clone)]
struct Device {
    /// The fence that it is in, and whether it has dwelt there.
    inside: Option<(usize, bool)>,
    /// The second in which it acted last. It acts at most once a second, so no two of its triggers share one.
    acted_s: i64,
}

impl Fleet {
    /// Enough devices for `rate` events in a second of event time.
    pub(super) fn new(start_ns: i64, rate: u32, random: &mut Random) -> Self {
        let count = (rate as usize).saturating_mul(DEVICES_PER_RATE).clamp(500, 200_000);
        let mut device =
            || Device { inside: random.percent(40).then(|| (random.index(FENCES.len()), true)), acted_s: i64::MIN };
        let devices = (0..count).map(|_| device()).collect();
        Self { devices, clock_ns: start_ns, step_ns: (NS_PER_S / i64::from(rate.max(1))).max(2) }
    }

    /// What happens next in the city.
    pub(super) fn next_trigger(&mut self, random: &mut Random) -> Trigger {
        let number = self.next_device(random);
        let now_ns = self.clock_ns;
        self.clock_ns = now_ns.saturating_add(random.between(self.step_ns / 2, self.step_ns * 3 / 2));
        let device = &mut self.devices[number];
        device.acted_s = now_ns.div_euclid(NS_PER_S);
        let (fence, transition) = match device.inside {
            None => (random.index(FENCES.len()), Transition::Enter),
            Some((fence, false)) if random.percent(60) => (fence, Transition::Dwell),
            Some((fence, _)) => (fence, Transition::Exit),
        };
        device.inside = match transition {
            Transition::Enter => Some((fence, false)),
            Transition::Dwell => Some((fence, true)),
            Transition::Exit => None,
        };
        Trigger::at(number, fence, transition, now_ns, random)
    }

    /// A trigger of a device outside the fleet: what is made of it takes part in no device's life.
    pub(super) fn stray_trigger(&self, random: &mut Random) -> Trigger {
        let number = self.devices.len() + random.index(1000);
        Trigger::at(number, random.index(FENCES.len()), Transition::Enter, self.clock_ns, random)
    }

    /// A device that has not acted in this second. Few devices are busy: each octave of numbers is drawn as often as
    /// any other, which is nearly Zipf's law and needs no logarithm. Whoever is drawn too often in a second gives way
    /// to any other.
    fn next_device(&mut self, random: &mut Random) -> usize {
        let octave = random.below(u64::from(self.devices.len().ilog2()) + 1);
        let mut number = random.index(2 << octave) % self.devices.len();
        for _ in 0..TRIES_MAX {
            if self.devices[number].acted_s < self.second() {
                return number;
            }
            number = random.index(self.devices.len());
        }
        self.clock_ns = self.second().saturating_add(1).saturating_mul(NS_PER_S);
        number
    }

    fn second(&self) -> i64 {
        self.clock_ns.div_euclid(NS_PER_S)
    }
}

/// One trigger, as fields that the producer may spoil.
#[derive(Debug, Clone)]
pub(super) struct Trigger {
    pub(super) device: String,
    pub(super) fence: &'static str,
    pub(super) transition: Transition,
    pub(super) event_time_ns: i64,
    pub(super) lat_e6: i64,
    pub(super) lon_e6: i64,
    /// Further members, each with a leading comma.
    pub(super) more: String,
}

impl Trigger {
    fn at(number: usize, fence: usize, transition: Transition, now_ns: i64, random: &mut Random) -> Self {
        let Fence { id, lat_e6, lon_e6 } = &FENCES[fence];
        Self {
            device: format!("{}-{number:05}", KINDS[number % KINDS.len()]),
            fence: id,
            transition,
            event_time_ns: now_ns,
            lat_e6: lat_e6 + random.between(-900, 900),
            lon_e6: lon_e6 + random.between(-900, 900),
            more: more(random),
        }
    }

    /// The trigger as its producer writes it.
    pub(super) fn to_json(&self) -> String {
        format!("{{{}}}", self.members())
    }

    /// The members without the braces.
    pub(super) fn members(&self) -> String {
        let Self { device, fence, transition, event_time_ns, lat_e6, lon_e6, more } = self;
        let transition = transition.as_str();
        let (lat, lon) = (Degrees(*lat_e6), Degrees(*lon_e6));
        format!(
            r#""device_id":"{device}","fence_id":"{fence}","transition":"{transition}","event_time_ns":{event_time_ns},"lat":{lat},"lon":{lon}{more}"#
        )
    }
}

/// Members that only some producers send, and members that eddy does not know.
fn more(random: &mut Random) -> String {
    let mut more = String::new();
    if random.percent(20) {
        push(&mut more, format_args!(r#","idempotency_key":"trg-{:016x}""#, random.next()));
    }
    if random.percent(25) {
        let (high, low, span) = (random.next(), random.next() | 1, random.next() | 1);
        push(&mut more, format_args!(r#","traceparent":"00-{high:016x}{low:016x}-{span:016x}-01""#));
    }
    if random.percent(15) {
        push(&mut more, format_args!(r#","correlation_id":"trip-{:08x}""#, random.next() >> 32));
    }
    if random.percent(30) {
        push(&mut more, format_args!(r#","schema_version":"1""#));
    }
    if random.percent(85) {
        let (whole, tenth) = (random.between(2, 40), random.below(10));
        push(&mut more, format_args!(r#","accuracy_m":{whole}.{tenth},"speed_kmh":{}"#, random.below(95)));
    }
    if random.percent(70) {
        push(
            &mut more,
            format_args!(r#","battery":{{"percent":{},"charging":{}}}"#, random.below(101), random.percent(20)),
        );
    }
    more
}

fn push(text: &mut String, piece: std::fmt::Arguments<'_>) {
    text.write_fmt(piece).expect("writing to a String cannot fail");
}

/// Millionths of a degree, written as degrees.
struct Degrees(i64);

impl std::fmt::Display for Degrees {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:06}", magnitude / 1_000_000, magnitude % 1_000_000)
    }
}
