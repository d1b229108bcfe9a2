//! The machine that a run takes place on, in words.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::thread;

/// Names the processor, as far as the system tells, the cores that may be used, and the system.
pub(crate) fn describe() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| processor(&text).map(|name| format!("{name}, ")))
        .unwrap_or_default();
    let cores = match thread::available_parallelism() {
        Ok(cores) if cores.get() == 1 => "1 core, ".to_owned(),
        Ok(cores) => format!("{cores} cores, "),
        Err(_) => String::new(),
    };
    format!("{processor}{cores}{OS} {ARCH}")
}

/// The processor's name in what Linux tells of it.
fn processor(cpuinfo: &str) -> Option<String> {
    let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let (_, name) = lines.find(|(key, _)| key.trim() == "model name")?;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_is_the_first_model_name() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some   CPU @ 2 GHz\nmodel name\t: other\n";
        assert_eq!(processor(cpuinfo).as_deref(), Some("Some CPU @ 2 GHz"));
        assert_eq!(processor("processor : 0\n"), None);
        assert!(describe().ends_with(&format!("{OS} {ARCH}")));
    }
}
