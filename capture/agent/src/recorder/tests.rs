use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Halt, Recorder};
use crate::file::Format;
use crate::limits::{Limits, WhenFull};
use crate::sys::libpcap::Packet;

const FORMAT: Format = Format {
    resolution_ns: 1,
    snaplen: 96,
    link_type: 1,
    level: 1,
};
const START_S: u32 = 1_700_000_000;
const RECORD_BYTES: u64 = 16 + 96;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("flowsweep-recorder-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("folder");
        Self(folder)
    }

    /// Returns names and sizes of the files on the disk.
    fn files(&self) -> Vec<(String, u64)> {
        let entries = fs::read_dir(&self.0).expect("folder");
        let mut files: Vec<_> = entries
            .map(|entry| {
                let entry = entry.expect("entry");
                let bytes = entry.metadata().expect("metadata").len();
                (entry.file_name().to_string_lossy().into_owned(), bytes)
            })
            .collect();
        files.sort();
        files
    }

    fn bytes(&self) -> u64 {
        self.files().iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn recorder(folder: &Path, name: &str, limits: Limits) -> Recorder {
    let limits = limits.checked().expect("limits");
    let start_ns = u64::from(START_S) * 1_000_000_000;
    Recorder::create(folder.join(name), FORMAT, limits, start_ns).expect("created")
}

/// Records a packet this long after the start, with bytes that compress badly.
fn record(recorder: &mut Recorder, after: Duration) {
    let mut word = after.as_nanos() as u64 | 1;
    let bytes: [u8; 96] = std::array::from_fn(|_| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (word >> 56) as u8
    });
    recorder.write(&Packet {
        seconds: START_S + after.as_secs() as u32,
        fraction: after.subsec_nanos(),
        length: 1_514,
        bytes: &bytes,
    });
}

fn moment(after: Duration) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(START_S.into()) + after
}

#[test]
fn day_of_minutes_has_a_file_for_each_and_every_packet_in_its_own() {
    let folder = Folder::new("day");
    let limits = Limits {
        rotate_time: Some(Duration::from_secs(60)),
        ..Limits::default()
    };
    let mut recorder = recorder(&folder.0, "a.pcap", limits);
    for second in (0..86_400).step_by(5) {
        record(&mut recorder, Duration::from_secs(second));
    }
    recorder.finish();
    let series = recorder.series();
    assert_eq!((series.files.len(), series.packets), (1_440, 86_400 / 5));
    assert!(series.files.iter().all(|file| file.packets == 12));
    for (number, file) in series.files.iter().enumerate() {
        let bytes = fs::read(folder.0.join(&file.file)).expect("read");
        let first = u32::from_ne_bytes([24, 25, 26, 27].map(|place| bytes[place]));
        assert_eq!(u64::from(first - START_S), 60 * number as u64);
        assert_eq!(file.bytes, bytes.len() as u64);
    }
    assert_eq!(series.files[1_439].file, "a-01439.pcap");
}

#[test]
fn day_in_a_ring_stays_within_its_bound_and_keeps_the_newest() {
    for name in ["a.pcap", "a.pcap.zst"] {
        let folder = Folder::new(name);
        let limits = Limits {
            rotate_time: Some(Duration::from_secs(10)),
            disk: Some((10_000, WhenFull::RemoveOldest)),
            ..Limits::default()
        };
        let mut recorder = recorder(&folder.0, name, limits);
        for tick in 0..8_640 * 4 {
            record(&mut recorder, Duration::from_millis(tick * 2_500));
            if tick % 97 == 0 {
                recorder.flush();
                assert!(folder.bytes() <= 10_000);
            }
        }
        recorder.finish();
        assert!(recorder.halt().is_none());
        let series = recorder.series();
        assert_eq!(series.packets + series.removed.packets, 8_640 * 4);
        assert_eq!(
            series.files.len() as u64 + series.removed.files,
            8_640,
            "{name}"
        );
        let listed: Vec<_> = series
            .files
            .iter()
            .map(|f| (f.file.clone(), f.bytes))
            .collect();
        assert_eq!(listed, folder.files());
        assert!(series.files[series.files.len() - 1].file.contains("08639"));
        // The bound is used, not only kept.
        assert!(
            (8_500..=10_000).contains(&folder.bytes()),
            "{name}: {}",
            folder.bytes()
        );
    }
}

#[test]
fn stop_keeps_all_that_fits() {
    for name in ["a.pcap", "a.pcap.zst"] {
        let folder = Folder::new(&format!("stop-{name}"));
        let limits = Limits {
            disk: Some((50_000, WhenFull::Stop)),
            ..Limits::default()
        };
        let mut recorder = recorder(&folder.0, name, limits);
        let mut given = 0;
        while recorder.halt().is_none() {
            record(&mut recorder, Duration::from_millis(given));
            given += 1;
        }
        assert!(matches!(recorder.halt(), Some(Halt::DiskBound)));
        recorder.finish();
        let series = recorder.series();
        assert_eq!(series.packets, given - 1);
        assert!((50_000 - 2 * RECORD_BYTES..=50_000).contains(&folder.bytes()));
        assert_eq!(series.files.len(), 1);
    }
}

#[test]
fn files_end_as_before_after_the_clock_was_set_back() {
    let folder = Folder::new("set-back");
    let limits = Limits {
        rotate_time: Some(Duration::from_secs(10)),
        ..Limits::default()
    };
    let mut recorder = recorder(&folder.0, "a.pcap", limits);
    // An hour after the start, the clock is set back by half an hour; then it is set to before the start.
    for second in (3_600..3_620).chain(1_800..1_820) {
        record(&mut recorder, Duration::from_secs(second));
    }
    recorder.tick(UNIX_EPOCH + Duration::from_secs(u64::from(START_S) - 100));
    recorder.tick(UNIX_EPOCH + Duration::from_secs(u64::from(START_S) - 85));
    record(&mut recorder, Duration::from_secs(1));
    recorder.finish();
    let series = recorder.series();
    let packets: Vec<_> = series.files.iter().map(|file| file.packets).collect();
    assert_eq!(packets, [10, 10, 10, 10, 1]);
}

#[test]
fn silence_ends_a_file_and_begins_none() {
    let folder = Folder::new("silence");
    let limits = Limits {
        rotate_time: Some(Duration::from_secs(1)),
        ..Limits::default()
    };
    let mut recorder = recorder(&folder.0, "a.pcap", limits);
    record(&mut recorder, Duration::from_millis(300));
    recorder.tick(moment(Duration::from_millis(900)));
    assert_eq!(recorder.series().files.len(), 1);
    for second in 1..100 {
        recorder.tick(moment(Duration::from_secs(second)));
    }
    let names = ["a-00001.pcap.part", "a.pcap"];
    assert_eq!(
        folder
            .files()
            .iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>(),
        names
    );
    record(&mut recorder, Duration::from_millis(100_500));
    record(&mut recorder, Duration::from_millis(100_999));
    record(&mut recorder, Duration::from_secs(101));
    recorder.finish();
    let series = recorder.series();
    let packets: Vec<_> = series.files.iter().map(|file| file.packets).collect();
    assert_eq!(packets, [1, 2, 1]);
}

#[test]
fn file_that_somebody_took_away_is_no_fault() {
    let folder = Folder::new("taken");
    let limits = Limits {
        rotate_bytes: Some(1_000),
        disk: Some((5_000, WhenFull::RemoveOldest)),
        ..Limits::default()
    };
    let mut recorder = recorder(&folder.0, "a.pcap", limits);
    for number in 0..1_000 {
        record(&mut recorder, Duration::from_millis(number));
        let _ = fs::remove_file(folder.0.join("a-00002.pcap"));
    }
    recorder.finish();
    assert!(recorder.halt().is_none());
    assert!(folder.bytes() <= 5_000);
}
