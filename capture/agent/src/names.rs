//! Turns the output file's name into the names of its further parts and of its manifest.

use std::path::{Path, PathBuf};

/// Suffixes that belong to the kind of file and not to its name, outermost first.
const SUFFIXES: [&str; 4] = [".zst", ".pcap", ".cap", ".dmp"];

/// Returns whether the file is written compressed.
pub fn is_compressed(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "zst")
}

/// Returns `x.pcap.zst` for number 0, then `x-00001.pcap.zst` and so on.
pub fn numbered(file: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return file.to_owned();
    }
    let (stem, suffix) = split(file);
    file.with_file_name(format!("{stem}-{number:05}{suffix}"))
}

/// Returns `x.capture.json` for `x.pcap.zst`.
pub fn manifest(file: &Path) -> PathBuf {
    file.with_file_name(format!("{}.capture.json", split(file).0))
}

/// Returns true for `x.pcap.zst.part`, `x-00001.pcap.zst.part` and so on, which a capture to `x.pcap.zst` has not
/// ended.
pub fn is_unfinished(file: &Path, other: &Path) -> bool {
    let (stem, suffix) = split(file);
    let name = plain(other);
    let number = name
        .strip_prefix(&stem)
        .and_then(|rest| rest.strip_suffix(".part"))
        .and_then(|rest| rest.strip_suffix(&suffix));
    number.is_some_and(|number| {
        let digits = number.strip_prefix('-');
        number.is_empty()
            || digits.is_some_and(|all| all.len() >= 5 && all.bytes().all(|at| at.is_ascii_digit()))
    })
}

/// Returns `x.pcap.zst.killed` for `x.pcap.zst.part`, or a free `.killed-2` and so on. No capture has such names.
pub fn killed(file: &Path) -> PathBuf {
    let name = plain(file);
    let name = name.strip_suffix(".part").unwrap_or(&name);
    let first = file.with_file_name(format!("{name}.killed"));
    let others = (2..).map(|number| file.with_file_name(format!("{name}.killed-{number}")));
    let mut all = std::iter::once(first.clone()).chain(others);
    all.find(|path| path.symlink_metadata().is_err())
        .unwrap_or(first)
}

/// Returns the file's name without its folder, as text.
pub fn plain(file: &Path) -> String {
    file.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn split(file: &Path) -> (String, String) {
    let name = plain(file);
    let mut stem = name.as_str();
    for suffix in SUFFIXES {
        stem = stem
            .strip_suffix(suffix)
            .filter(|rest| !rest.is_empty())
            .unwrap_or(stem);
    }
    (stem.to_owned(), name[stem.len()..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_before_the_suffixes() {
        for (file, second, manifest_file) in [
            (
                "d/pc1.pcap.zst",
                "d/pc1-00001.pcap.zst",
                "d/pc1.capture.json",
            ),
            ("pc1.pcap", "pc1-00001.pcap", "pc1.capture.json"),
            ("pc.1", "pc.1-00001", "pc.1.capture.json"),
            (".pcap", ".pcap-00001", ".pcap.capture.json"),
        ] {
            let file = Path::new(file);
            assert_eq!(numbered(file, 0), file);
            assert_eq!(numbered(file, 1), Path::new(second));
            assert_eq!(manifest(file), Path::new(manifest_file));
        }
    }

    #[test]
    fn unfinished_files_are_those_of_the_same_capture() {
        let unfinished = |file: &str, other: &str| is_unfinished(Path::new(file), Path::new(other));
        for number in ["", "-00001", "-123456"] {
            assert!(unfinished(
                "d/a.pcap.zst",
                &format!("d/a{number}.pcap.zst.part")
            ));
            assert!(unfinished("a", &format!("a{number}.part")));
        }
        for other in [
            "a.pcap.zst",
            "a.pcap.part",
            "a-1.pcap.zst.part",
            "ab.pcap.zst.part",
            "a-0000x.pcap.zst.part",
        ] {
            assert!(!unfinished("a.pcap.zst", other), "{other}");
        }
    }
}
