//! Turns the output file's name into the names of its further parts and of its manifest.

use std::path::{Path, PathBuf};

/// Suffixes that belong to the kind of file and not to its name, outermost first.
const SUFFIXES: [&str; 4] = [".zst", ".pcap", ".cap", ".dmp"];

/// True when the file is to be compressed.
pub fn is_compressed(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "zst")
}

/// `x.pcap.zst` for number 0, then `x-00001.pcap.zst` and so on.
pub fn numbered(file: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return file.to_owned();
    }
    let (stem, suffix) = split(file);
    file.with_file_name(format!("{stem}-{number:05}{suffix}"))
}

/// `x.capture.json` for `x.pcap.zst`.
pub fn manifest(file: &Path) -> PathBuf {
    file.with_file_name(format!("{}.capture.json", split(file).0))
}

/// The file's name without its folder, as text.
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
}
