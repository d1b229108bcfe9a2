//! What is run, in which order, and how the subjects take turns.

use std::hint::black_box;

use indicatif::{ProgressBar, ProgressStyle};
use timer_wheel_bench::workload::XorShift64Star;

use crate::answer::WrongAnswer;
use crate::child;
use crate::cli::Options;
use crate::experiment::sizes::Sizes;
use crate::experiment::{
    Measure, burst, caffeine, churn, evict, expire, far, fill, hold, idle, longest, memory, pause,
    peak, refresh, server, small, wake,
};
use crate::figure::{Sample, Workload};
use crate::ledger::Ledger;
use crate::subject::Subject;

/// An experiment, and the workloads whose figures it gives.
#[derive(Clone, Copy)]
pub(crate) enum Plan {
    Fill,
    Expire,
    ExpireJumping,
    Churn,
    Refresh,
    Longest,
    Budgeted,
    Burst,
    Memory,
    Wake,
    Idle,
    Caffeine,
    Pause,
    Hold,
    Small,
    Evict,
    Far,
    Peak,
    Server,
}

/// In the order of the workloads, those that have sizes of their own last.
const ALL: [Plan; 19] = [
    Plan::Fill,
    Plan::Expire,
    Plan::ExpireJumping,
    Plan::Churn,
    Plan::Refresh,
    Plan::Longest,
    Plan::Budgeted,
    Plan::Burst,
    Plan::Memory,
    Plan::Pause,
    Plan::Evict,
    Plan::Far,
    Plan::Peak,
    Plan::Wake,
    Plan::Idle,
    Plan::Caffeine,
    Plan::Hold,
    Plan::Small,
    Plan::Server,
];

/// What is to be run, in order, and on how many timers: the experiments that give a figure someone
/// asked for, at every size asked for if they have none of their own.
pub(crate) fn agenda(options: &Options) -> Vec<(Plan, usize)> {
    let wanted = |plan: &Plan| plan.workloads().iter().any(|&it| options.wants(it));
    let (of_any_size, of_own_sizes): (Vec<Plan>, Vec<Plan>) = ALL
        .into_iter()
        .filter(wanted)
        .partition(|plan| plan.own_sizes() == Sizes::AsAsked);
    let asked = options.sizes();
    let mut agenda = Vec::new();
    for &n in &asked {
        agenda.extend(of_any_size.iter().map(|&plan| (plan, n)));
    }
    for plan in of_own_sizes {
        let sizes = match options.is_child {
            true => asked.clone(),
            false => plan.own_sizes().given(&asked),
        };
        agenda.extend(sizes.into_iter().map(|n| (plan, n)));
    }
    agenda
}

pub(crate) fn progress_bar(agenda: &[(Plan, usize)], options: &Options) -> ProgressBar {
    let rounds: u32 = agenda.iter().map(|&(_, n)| options.rounds(n)).sum();
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(u64::from(rounds) * options.subjects().len() as u64).with_style(style)
}

impl Plan {
    pub(crate) fn workloads(self) -> &'static [Workload] {
        match self {
            Self::Fill => &[Workload::W1a, Workload::W1b, Workload::W1c],
            Self::Expire => &[Workload::W2],
            Self::ExpireJumping => &[Workload::W2j],
            Self::Churn => &[Workload::W3],
            Self::Refresh => &[Workload::W4],
            Self::Longest => &[Workload::W6],
            Self::Budgeted => &[Workload::W6b],
            Self::Burst => &[Workload::W7],
            Self::Memory => &[Workload::W8],
            Self::Wake => &[Workload::W5],
            Self::Idle => &[Workload::W5i],
            Self::Caffeine => &[Workload::W9],
            Self::Pause => &[Workload::W10],
            Self::Hold => &[Workload::W11],
            Self::Small => &[Workload::W12],
            Self::Evict => &[Workload::W13],
            Self::Far => &[Workload::W14],
            Self::Peak => &[Workload::W15],
            Self::Server => &[Workload::W16],
        }
    }

    /// On how many timers the experiment runs, if that is part of its definition.
    fn own_sizes(self) -> Sizes {
        match self {
            Self::Wake => Sizes::Always(wake::N),
            Self::Idle => Sizes::Always(idle::N),
            Self::Caffeine => Sizes::Always(caffeine::N),
            Self::Hold => Sizes::UpTo(hold::SIZES),
            Self::Small => Sizes::UpTo(small::SIZES),
            Self::Server => Sizes::UpTo(server::SIZES),
            Self::Pause => pause::SIZES,
            Self::Peak => peak::SIZES,
            _ => Sizes::AsAsked,
        }
    }

    /// Whether what another subject has left of the memory would show: in how long the longest calls take, and
    /// in many small queues.
    fn wants_fresh_processes(self) -> bool {
        matches!(self, Self::Memory | Self::Small | Self::Peak)
    }

    pub(crate) fn run(
        self,
        n: usize,
        options: &Options,
        progress: &ProgressBar,
    ) -> Result<Ledger, WrongAnswer> {
        let name = self.workloads()[0].name();
        progress.set_message(format!("{name} at {n}"));
        let turns = Turns {
            plan: self,
            n,
            options,
            progress,
        };
        match self {
            Self::Fill => turns.take(&fill::Input::new(n), &[|subject| subject.fill], &[]),
            Self::Expire => turns.take(
                &expire::Input::new(n),
                &[|subject| subject.expire],
                &[|subject| subject.moves],
            ),
            Self::ExpireJumping => {
                turns.take(&expire::Input::jumping(n), &[|subject| subject.expire], &[])
            }
            Self::Churn => turns.take(&churn::Input::new(n), &[|subject| subject.churn], &[]),
            Self::Refresh => turns.take(&refresh::Input::new(n), &[|subject| subject.refresh], &[]),
            Self::Longest => turns.take(&longest::Input::new(n), &[|subject| subject.longest], &[]),
            Self::Budgeted => {
                turns.take(&longest::Input::new(n), &[|subject| subject.budgeted], &[])
            }
            Self::Burst => turns.take(
                &burst::Input::new(n),
                &[|subject| subject.burst, |subject| subject.budgeted_burst],
                &[],
            ),
            Self::Memory => turns.take(&memory::Input::new(n), &[], &[|subject| subject.memory]),
            Self::Wake => turns.take(&wake::Input::new(), &[|subject| subject.wake], &[]),
            Self::Idle => turns.take(&idle::Input::new(), &[|subject| subject.idle], &[]),
            Self::Caffeine => turns.take(
                &caffeine::Input::new(),
                &[
                    |subject| subject.caffeine.reschedule,
                    |subject| subject.caffeine.expire,
                    |subject| subject.caffeine.wake,
                    |subject| subject.caffeine.order,
                ],
                &[],
            ),
            Self::Pause => turns.take(&pause::Input::new(n), &[|subject| subject.pause], &[]),
            Self::Hold => turns.take(&hold::Input::new(n), &[|subject| subject.hold], &[]),
            Self::Small => turns.take(
                &small::Input::new(n),
                &[|subject| subject.small],
                &[|subject| subject.weigh_small],
            ),
            Self::Evict => turns.take(&evict::Input::new(n), &[|subject| subject.evict], &[]),
            Self::Far => turns.take(&far::Input::new(n), &[|subject| subject.far], &[]),
            Self::Peak => turns.take(&peak::Input::new(n), &[|subject| subject.peak], &[]),
            Self::Server => turns.take(&server::Input::new(n), &[|subject| subject.server], &[]),
        }
    }
}

/// Chooses a subject's function for an experiment, if it takes part.
type Choose<Input> = fn(&Subject) -> Option<Measure<Input>>;

/// The subjects taking turns at one experiment.
struct Turns<'a> {
    plan: Plan,
    n: usize,
    options: &'a Options,
    progress: &'a ProgressBar,
}

impl Turns<'_> {
    /// Measures every subject once a round, and counts in the first what is the same in all. Each
    /// round has an order of its own, so that none always runs in the wake of the same other.
    fn take<Input>(
        &self,
        input: &Input,
        timed: &[Choose<Input>],
        counted: &[Choose<Input>],
    ) -> Result<Ledger, WrongAnswer> {
        let mut ledger = Ledger::new();
        let subjects = self.options.subjects();
        let mut random = XorShift64Star::new();
        for round in 0..self.options.rounds(self.n) {
            let counted = if round == 0 { counted } else { &[] };
            for turn in random.permutation(subjects.len() as u32) {
                let subject = subjects[turn as usize];
                let measures = timed.iter().chain(counted);
                let measures: Vec<_> = measures.filter_map(|choose| choose(subject)).collect();
                let samples = if measures.is_empty() {
                    Vec::new()
                } else if self.plan.wants_fresh_processes() && !self.options.is_child {
                    child::measure(self.plan.workloads()[0], self.n, subject.name)?
                } else {
                    measure_here(input, &measures)?
                };
                for sample in samples {
                    if self.options.wants(sample.figure.workload) {
                        ledger.record(self.n, subject.name, sample);
                    }
                }
                self.progress.inc(1);
            }
        }
        ledger.sort_by_subject(|name| subjects.iter().position(|it| it.name == name));
        check_complete(&subjects, self.n, &ledger)?;
        Ok(ledger)
    }
}

fn measure_here<Input>(
    input: &Input,
    measures: &[Measure<Input>],
) -> Result<Vec<Sample>, WrongAnswer> {
    let mut samples = Vec::new();
    for measure in measures {
        tidy_heap();
        samples.extend(measure(input)?);
    }
    Ok(samples)
}

/// Lets the allocator put together what the last subject left in pieces.
///
/// A queue of a million small boxes leaves as many free chunks behind, and glibc merges them when next
/// asked for a large block: the next subject would pay for that.
fn tidy_heap() {
    const LARGE: usize = 1 << 20;
    drop(black_box(Vec::<u8>::with_capacity(LARGE)));
}

/// Refuses a subject that lacks a figure which another one has, and does not say why.
pub(crate) fn check_complete(
    subjects: &[&'static Subject],
    n: usize,
    ledger: &Ledger,
) -> Result<(), WrongAnswer> {
    for figure in ledger.figures() {
        for subject in subjects {
            let is_measured = ledger.find(n, subject.name, figure).is_some();
            if !is_measured && subject.reason_to_lack(figure).is_none() {
                let (workload, figure) = (figure.workload.name(), figure.name);
                let fault = format!("lacks {workload}, {figure}, and gives no reason");
                return Err(WrongAnswer::new(subject.name, fault));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure;
    use crate::subject;

    #[test]
    fn subject_without_a_figure_and_without_a_reason_is_refused() {
        let named = |name| subject::ALL.iter().find(|it| it.name == name).unwrap();
        let subjects = [named("wheel"), named("heap")];
        let mut ledger = Ledger::new();
        ledger.record(10, "wheel", figure::CHURN.sample(1.0));
        assert!(check_complete(&subjects, 10, &ledger).is_ok());
        ledger.record(10, "wheel", figure::EXPIRE.sample(1.0));
        assert!(check_complete(&subjects, 10, &ledger).is_err());
        ledger.record(10, "heap", figure::EXPIRE.sample(1.0));
        assert!(check_complete(&subjects, 10, &ledger).is_ok());
    }
}
