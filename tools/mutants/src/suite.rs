//! The tests of the compiled programs: how long each takes, and which mutants it asks for.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use wait_timeout::ChildExt;

use crate::mutant::{Area, Id};
use crate::tree::{Compiled, Tree, for_each};

/// How many random scripts are drawn by a test that is made brief.
pub(crate) const BRIEF: (&str, &str) = ("QUICKCHECK_TESTS", "12");

/// A test that takes longer is tried in brief as well.
const SLOW: Duration = Duration::from_millis(300);

/// What a mutant may take for a test: so many times what it takes otherwise, and this.
const PATIENCE: u32 = 10;
const LEAST_PATIENCE: Duration = Duration::from_secs(4);

/// How often a test program is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// Kilobytes of addresses for a test, so that a mutant that asks for ever more is stopped.
const MEMORY: &str = "6000000";

/// Tests are run together up to these times, the quickest first.
const STAGES_MS: [u64; 5] = [50, 200, 800, 3_000, 12_000];

/// The first stage in which there are tests of other areas.
const FOREIGN: usize = 3;

/// The program of the unit tests.
const LIBRARY: &str = "timer_wheel";

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Test {
    program: usize,
    name: String,
    time: Duration,
    /// With fewer random scripts, where that makes a difference.
    is_brief: bool,
    /// `None` for all: it fails when it is recorded.
    asks_for: Option<HashSet<Id>>,
}

impl Test {
    fn asks(&self, mutant: Id) -> bool {
        self.asks_for
            .as_ref()
            .is_none_or(|ids| ids.contains(&mutant))
    }
}

/// A test program, as it was when its tests were measured.
#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
struct Program {
    name: String,
    path: PathBuf,
    built: SystemTime,
}

#[derive(Default, Deserialize, Serialize)]
pub(crate) struct Suite {
    programs: Vec<Program>,
    /// The quickest first.
    tests: Vec<Test>,
}

/// How a run ended.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Verdict {
    /// By a test that failed, which is named.
    Caught(String),
    /// Some test went on and on, one of these.
    Endless(String),
    Survived,
}

impl Suite {
    /// Runs every test by itself, but for those of programs that are as they were when `at` was written.
    pub(crate) fn measure(compiled: Compiled, trees: &[Tree], at: &Path) -> Result<Self> {
        let last: Self = match fs::read(at) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(_) => Self::default(),
        };
        let mut suite = Self::default();
        let mut names = Vec::new();
        for (name, path) in compiled.programs {
            let built = fs::metadata(&path)?.modified()?;
            let program = Program { name, path, built };
            let number = suite.programs.len();
            if let Some(known) = last.programs.iter().position(|known| *known == program) {
                let tests = last.tests.iter().filter(|test| test.program == known);
                suite.tests.extend(tests.cloned().map(|test| Test {
                    program: number,
                    ..test
                }));
            } else {
                let ignored = listed(&program.path, &["--ignored"])?;
                let all = listed(&program.path, &[])?;
                names.extend(all.difference(&ignored).map(|name| (number, name.clone())));
            }
            suite.programs.push(program);
        }
        println!("{} tests are run one by one", names.len());
        let tests = Mutex::new(Vec::new());
        for_each(names, trees, |(program, name), tree, _| {
            let found = suite.try_out(program, name, tree)?;
            tests.lock().unwrap().extend(found);
            Ok(())
        })?;
        let measured = tests.into_inner().expect("no worker panics");
        suite.tests.extend(measured);
        suite.tests.sort_by_key(|test| test.time);
        fs::write(at, serde_json::to_vec(&suite)?)?;
        Ok(suite)
    }

    /// One test without any mutant: its time, and in a second run what it asks for.
    fn try_out(&self, program: usize, name: String, tree: &Tree) -> Result<Vec<Test>> {
        let mut test = Test {
            program,
            name,
            time: Duration::from_secs(300),
            is_brief: false,
            asks_for: None,
        };
        let record = tree.root().join("record");
        _ = fs::remove_file(&record);
        let start = Instant::now();
        let verdict = self.run(&[&test], None, Some(&record), tree)?;
        let mut time = start.elapsed();
        if verdict == Verdict::Survived {
            let recorded = fs::read_to_string(&record).unwrap_or_default();
            test.asks_for = Some(recorded.lines().map(str::parse).collect::<Result<_, _>>()?);
        }
        // Recorded, a test takes several times as long; and where memory is counted, the record's own
        // may be too much.
        if verdict != Verdict::Survived || time > SLOW {
            time = self.pass(&test, tree)?;
        }
        let mut brief = test.clone();
        test.time = time;
        if time <= SLOW {
            return Ok(vec![test]);
        }
        brief.is_brief = true;
        brief.time = self.pass(&brief, tree)?;
        let is_shorter = brief.time * 2 < time;
        let both = [Some(test), is_shorter.then_some(brief)];
        Ok(both.into_iter().flatten().collect())
    }

    /// How long a test takes, which must pass.
    fn pass(&self, test: &Test, tree: &Tree) -> Result<Duration> {
        let start = Instant::now();
        let verdict = self.run(&[test], None, None, tree)?;
        ensure!(
            verdict == Verdict::Survived,
            "without any mutant: {verdict:?}"
        );
        Ok(start.elapsed())
    }

    /// Whether a test is known to ask for it.
    pub(crate) fn is_reached(&self, mutant: Id) -> bool {
        let known = self.tests.iter().filter_map(|test| test.asks_for.as_ref());
        known.into_iter().any(|ids| ids.contains(&mutant))
    }

    /// Runs all tests that ask for a mutant, the quickest first, until one fails; or those only that
    /// take no longer than `most`.
    pub(crate) fn try_mutant(
        &self,
        id: Id,
        area: Area,
        most: Option<Duration>,
        tree: &Tree,
    ) -> Result<Verdict> {
        let asking = self.tests.iter().filter(|test| test.asks(id));
        let asking = asking.filter(|test| most.is_none_or(|most| test.time <= most));
        let mut stages: BTreeMap<_, Vec<&Test>> = BTreeMap::new();
        let mut sum = 0;
        for test in asking {
            sum += test.time.as_millis() as u64;
            let stage = STAGES_MS.iter().filter(|&&limit| sum > limit).count();
            // The longest are run one by one.
            let apart = if stage == STAGES_MS.len() { sum } else { 0 };
            // With something else broken, many tests of a driver wait for ever: those come later.
            let program = self.programs[test.program].name.as_str();
            let is_own = program == LIBRARY || area.programs().contains(&program);
            let stage = if is_own { stage } else { stage.max(FOREIGN) };
            let stage = (stage, !is_own, apart, test.program, test.is_brief);
            stages.entry(stage).or_default().push(test);
        }
        for tests in stages.values() {
            let mut verdict = self.run(tests, Some(id), None, tree)?;
            if matches!(verdict, Verdict::Endless(_)) {
                // The machine may have had something else to do.
                verdict = self.run(tests, Some(id), None, tree)?;
            }
            if verdict != Verdict::Survived {
                return Ok(verdict);
            }
        }
        Ok(Verdict::Survived)
    }

    /// Runs tests of one program in one process.
    fn run(
        &self,
        tests: &[&Test],
        mutant: Option<Id>,
        record: Option<&Path>,
        tree: &Tree,
    ) -> Result<Verdict> {
        let Program { name, path, .. } = &self.programs[tests[0].program];
        let mut command = limited(path);
        command.args(["--exact", "--test-threads", "1"]);
        command.args(tests.iter().map(|test| &test.name));
        if let Some(id) = mutant {
            command.env("MUTANT", id.to_string());
        }
        if let Some(path) = record {
            command.env("MUTANT_RECORD", path);
        }
        if tests[0].is_brief {
            command.env(BRIEF.0, BRIEF.1);
        }
        let patience = |running: &str| {
            let test = tests.iter().find(|test| test.name == running);
            test.map_or(Duration::ZERO, |test| test.time) * PATIENCE + LEAST_PATIENCE
        };
        finish(command, name, patience, tree)
    }
}

/// A test program that may not take all memory.
pub(crate) fn limited(program: &Path) -> Command {
    let mut command = Command::new("sh");
    let script = r#"ulimit -v "$1" && program=$2 && shift 2 && exec "$program" "$@""#;
    command.args(["-c", script, "sh", MEMORY]).arg(program);
    command
}

/// Waits for a test program to end, but for none of its tests longer than `patience` says.
pub(crate) fn finish(
    mut command: Command,
    program: &str,
    patience: impl Fn(&str) -> Duration,
    tree: &Tree,
) -> Result<Verdict> {
    let output = tree.root().join("output");
    let mut child = command
        .current_dir(tree.root())
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(File::create(&output)?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run {program}"))?;
    // A program that runs one test at a time tells of each before it runs.
    let (mut running, mut since) = (String::new(), Instant::now());
    let status = loop {
        if let Some(status) = child.wait_timeout(GLANCE)? {
            break Some(status);
        }
        let last = last_told(&output, |_| true)?;
        if last != running {
            (running, since) = (last, Instant::now());
        }
        if since.elapsed() > patience(&running) {
            child.kill()?;
            child.wait()?;
            break None;
        }
    };
    if status.is_some_and(|status| status.success()) {
        return Ok(Verdict::Survived);
    }
    let failed = match last_told(&output, |line| line.ends_with("FAILED"))? {
        none if none.is_empty() => last_told(&output, |_| true)?,
        failed => failed,
    };
    let failed = format!("{program}::{failed}");
    Ok(if status.is_some() {
        Verdict::Caught(failed)
    } else {
        Verdict::Endless(failed)
    })
}

/// The name of the last test of those that a program has told of in lines of one kind.
fn last_told(output: &Path, is_meant: impl Fn(&str) -> bool) -> Result<String> {
    let told = fs::read(output)?;
    let told = String::from_utf8_lossy(&told);
    let meant = told.lines().rev().filter(|line| is_meant(line));
    let name = meant
        .filter_map(|line| line.strip_prefix("test "))
        .filter_map(|line| line.split(' ').next())
        .next();
    Ok(name.unwrap_or_default().to_owned())
}

/// The names of a program's tests.
fn listed(program: &Path, which: &[&str]) -> Result<HashSet<String>> {
    let listed = Command::new(program)
        .args(["--list", "--format", "terse"])
        .args(which)
        .output()?;
    if !listed.status.success() {
        bail!("{} does not list its tests", program.display());
    }
    let listed = String::from_utf8(listed.stdout)?;
    let names = listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}
