//! TCP conversations for the entry `tcp`.

/// One segment of a conversation: control, flags, relative numbers, payload, window.
type Step = (u8, u8, i16, i16, u16, u16);

pub fn conversations() -> Vec<(&'static str, Vec<u8>)> {
    let open: [Step; 3] = [
        (16, 2, 0, 0, 0, 500),
        (17, 18, 0, 0, 0, 500),
        (0, 16, 0, 0, 0, 500),
    ];
    let data: Step = (0, 24, 0, 0, 1448, 500);
    let ack: Step = (1, 16, 0, 0, 0, 500);
    let close: [Step; 3] = [
        (0, 17, 0, 0, 0, 500),
        (1, 17, 0, 0, 0, 500),
        (0, 16, 0, 0, 0, 500),
    ];
    let hole: Step = (0, 24, 1448, 0, 1448, 500);
    let duplicate: Step = (1, 16, 0, -2896, 0, 500);
    let filling: Step = (0, 24, -2896, 0, 1448, 500);
    let shut: Step = (1, 16, 0, 0, 0, 0);
    let probe: Step = (0, 16, -1, 0, 0, 500);
    let burst: Step = (128, 16, 0, 0, 1448, 500);
    let bursts = [
        &open[..],
        &[data, burst, ack, burst, hole, burst, filling, ack],
        &close,
    ]
    .concat();
    let whole = [&open[..], &[data, data, ack, data, ack], &close].concat();
    let lossy = [
        &open[..],
        &[data, hole, duplicate, duplicate, filling, ack, filling],
        &close,
    ];
    let stalled = [
        &open[..],
        &[data, shut, probe, shut, ack, data, ack, probe, ack],
    ]
    .concat();
    let reused = [&whole[..], &[(16, 2, 30_000, 0, 0, 500)], &whole[3..]].concat();
    vec![
        ("whole", fields(0, 1000, &whole)),
        ("wrap", fields(1, u32::MAX - 2000, &whole)),
        ("lossy", fields(6, 1000, &lossy.concat())),
        ("stalled", fields(0, 1000, &stalled)),
        ("reused", fields(0, 1000, &reused)),
        ("bursts", fields(8, 1000, &bursts)),
        (
            "bursts-of-two-threads",
            fields(15, u32::MAX - 50_000, &bursts),
        ),
        (
            "midstream",
            fields(0, 5, &[data, ack, data, filling, data, ack]),
        ),
    ]
}

fn fields(options: u8, isn: u32, steps: &[Step]) -> Vec<u8> {
    let mut fields = vec![options];
    fields.extend(isn.to_le_bytes());
    fields.extend(7777_u32.to_le_bytes());
    for &(control, flags, seq, ack, payload, window) in steps {
        fields.extend([control, flags]);
        fields.extend(seq.to_le_bytes());
        fields.extend(ack.to_le_bytes());
        fields.extend(payload.to_le_bytes());
        fields.extend(window.to_le_bytes());
        if control & 128 == 0 {
            fields.push(130);
        } else {
            // In quick succession.
            fields.extend([70, 20]);
        }
        if control & 16 != 0 || flags & 2 != 0 {
            fields.extend([5, 7]);
        }
    }
    fields
}
