//! A window of a file to records by several threads: each reads a slice of it and walks its records from the first
//! place where one seems to begin. What a guess found counts only if the records before it end right there, so that
//! the records are those that one thread would find.

use super::{Reader, Record, Status};

/// What one thread found in its slice of a window; offsets count from the start of the window.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    /// The records between `begin` and `end`.
    records: Vec<Record>,
    begin: usize,
    end: usize,
}

impl Slice {
    /// Looks for records in `bytes`, which begin at offset `at` of the window.
    pub(crate) fn look(&mut self, reader: &Reader, bytes: &[u8], at: usize) {
        self.records.clear();
        // The first slice begins with a record.
        let guess = if at == 0 {
            Some(0)
        } else {
            (0..bytes.len()).find(|&guess| reader.seems_to_begin(&bytes[guess..]))
        };
        let begin = guess.unwrap_or(bytes.len());
        let used = reader.look_ahead(&bytes[begin..], &mut self.records);
        self.begin = at + begin;
        self.end = self.begin + used;
        for record in &mut self.records {
            record.at += self.begin as u32;
            record.data += self.begin as u32;
        }
    }
}

/// Appends to `out` all records of the window `bytes`, of which `slices` tell a part; also how many bytes they take.
pub(crate) fn join(
    reader: &mut Reader,
    bytes: &[u8],
    last: bool,
    slices: &[Slice],
    out: &mut Vec<Record>,
) -> (usize, Status) {
    let section = reader.section();
    let mut at = 0;
    for slice in slices.iter().filter(|slice| !slice.records.is_empty()) {
        // Records between the slices, and those of slices with a wrong guess.
        while at < slice.begin {
            let (used, status) = fill(reader, bytes, at, last, out, 1);
            at += used;
            if status != Status::Full {
                return (at, status);
            }
        }
        if at == slice.begin && reader.section() == section {
            out.extend_from_slice(&slice.records);
            at = slice.end;
            if let Some(last) = slice.records.last() {
                reader.go_on_behind(last);
            }
        }
    }
    let (used, status) = fill(reader, bytes, at, last, out, usize::MAX);
    (at + used, status)
}

/// Appends up to `more` records from offset `at` of the window on.
fn fill(
    reader: &mut Reader,
    bytes: &[u8],
    at: usize,
    last: bool,
    out: &mut Vec<Record>,
    more: usize,
) -> (usize, Status) {
    let known = out.len();
    let limit = known.saturating_add(more);
    let found = reader.fill(&bytes[at..], last, out, limit);
    for record in &mut out[known..] {
        record.at += at as u32;
        record.data += at as u32;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn pcap_record(time: u32, data: &[u8]) -> Vec<u8> {
        let length = data.len() as u32;
        let mut record = words(&[time, time, length, length]);
        record.extend(data);
        record
    }

    fn pcapng_block(kind: u32, body: &[u8]) -> Vec<u8> {
        let length = 12 + body.len().next_multiple_of(4) as u32;
        let mut block = words(&[kind, length]);
        block.extend(body);
        block.resize(length as usize - 4, 0);
        block.extend(words(&[length]));
        block
    }

    fn pcapng_packet(
        kind: u32,
        interface: u32,
        time: u32,
        data: &[u8],
        dropped: Option<u8>,
    ) -> Vec<u8> {
        let length = data.len() as u32;
        let mut body = match kind {
            6 => words(&[interface, 0, time, length, length]),
            _ => words(&[length]),
        };
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        if let (6, Some(count)) = (kind, dropped) {
            body.extend([4, 0, 8, 0, count, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        pcapng_block(kind, &body)
    }

    /// Payloads: of any bytes, of zeros, and of what looks like records itself.
    fn payload() -> impl Strategy<Value = Vec<u8>> {
        let inner =
            prop::collection::vec((0..9_u32, prop::collection::vec(any::<u8>(), 0..40)), 1..8);
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            (0..300_usize).prop_map(|length| vec![0; length]),
            (inner.clone(), 0..5_usize).prop_map(|(inner, from)| {
                let all: Vec<u8> = inner
                    .iter()
                    .flat_map(|(time, data)| pcap_record(*time, data))
                    .collect();
                all[from.min(all.len())..].to_vec()
            }),
            (inner, 0..5_usize).prop_map(|(inner, from)| {
                let all: Vec<u8> = inner
                    .iter()
                    .flat_map(|(time, data)| pcapng_packet(6, 0, *time, data, None))
                    .collect();
                all[from.min(all.len())..].to_vec()
            }),
        ]
    }

    fn pcap_file() -> impl Strategy<Value = Vec<u8>> {
        let record = (0..1_000_000_u32, payload());
        prop::collection::vec(record, 0..60).prop_map(|records| {
            let mut file = words(&[0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 262_144, 1]);
            file.extend(
                records
                    .iter()
                    .flat_map(|(time, data)| pcap_record(*time, data)),
            );
            file
        })
    }

    fn pcapng_file() -> impl Strategy<Value = Vec<u8>> {
        let section = pcapng_block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
        let interface = pcapng_block(1, &words(&[1, 0]));
        let begin = [section.clone(), interface.clone()].concat();
        let kind = prop::sample::select(vec![6, 6, 6, 6, 6, 6, 6, 3]);
        let on = prop_oneof![9 => Just(0), 1 => Just(1)];
        let packet = (kind, on, any::<u32>(), payload());
        let block = prop_oneof![
            40 => (packet, prop::option::weighted(0.1, 0..9_u8)).prop_map(|((kind, on, time, data), dropped)| {
                pcapng_packet(kind, on, time, &data, dropped)
            }),
            2 => Just(interface),
            2 => Just(begin.clone()),
            1 => Just(section),
            1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(|body| pcapng_block(9, &body)),
        ];
        prop::collection::vec(block, 0..60).prop_map(move |blocks| {
            let mut file = begin.clone();
            file.extend(blocks.concat());
            file
        })
    }

    fn read(
        file: &[u8],
        window: usize,
        slice: Option<usize>,
    ) -> (Vec<(usize, Record)>, String, String) {
        let (mut reader, mut start) = Reader::detect("a", file).expect("a capture");
        let mut window = window;
        let mut found = Vec::new();
        loop {
            let end = (start + window).min(file.len());
            let (bytes, last) = (&file[start..end], end == file.len());
            let mut records = Vec::new();
            let (used, status) = match slice {
                None => reader.fill(bytes, last, &mut records, usize::MAX),
                Some(length) => {
                    let slices: Vec<Slice> = (0..)
                        .zip(bytes.chunks(length))
                        .map(|(number, bytes)| {
                            let mut slice = Slice::default();
                            slice.look(&reader, bytes, number * length);
                            slice
                        })
                        .collect();
                    join(&mut reader, bytes, last, &slices, &mut records)
                }
            };
            found.extend(records.into_iter().map(|record| (start, record)));
            start += used;
            match status {
                Status::Need(need) if !last => window = window.max(need),
                status => {
                    let interfaces = format!("{:?}", reader.interfaces());
                    return (found, format!("{start} {status:?}"), interfaces);
                }
            }
        }
    }

    /// Offsets of records count from the start of the file.
    fn placed(
        (found, status, interfaces): (Vec<(usize, Record)>, String, String),
    ) -> (Vec<Record>, String, String) {
        let place = |(start, record): (usize, Record)| Record {
            at: record.at + start as u32,
            data: record.data + start as u32,
            ..record
        };
        (found.into_iter().map(place).collect(), status, interfaces)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn slices_hold_the_records_that_one_thread_finds(
            file in prop_oneof![pcap_file(), pcapng_file()],
            cut in prop::option::weighted(0.3, any::<prop::sample::Index>()),
            change in prop::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>())),
            window in 28..20_000_usize,
            slice in 1..1500_usize,
        ) {
            let mut file = file;
            if let Some(cut) = cut {
                file.truncate(28 + cut.index(file.len()));
            }
            if let Some((at, value)) = change && file.len() > 28 {
                let at = 28 + at.index(file.len() - 28);
                file[at] = value;
            }
            if let Ok((_, _)) = Reader::detect("a", &file) {
                prop_assert_eq!(placed(read(&file, window, Some(slice))), placed(read(&file, window, None)));
            }
        }
    }
}
