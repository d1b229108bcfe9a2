//! On how many timers an experiment runs.

/// What its definition says, beside what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    AsAsked,
    /// Whatever is asked for.
    Always(usize),
    /// On those that are no larger than what is asked for, so that a quick look stays one.
    UpTo(&'static [usize]),
    /// On one more, where so many are asked for.
    Beyond {
        asked: usize,
        n: usize,
    },
}

impl Sizes {
    /// The sizes, where these are asked for.
    pub(crate) fn given(self, asked: &[usize]) -> Vec<usize> {
        let own: Vec<usize> = match self {
            Self::AsAsked => Vec::new(),
            Self::Always(n) => vec![n],
            Self::UpTo(sizes) => {
                let largest = asked.iter().copied().max().unwrap_or_default();
                let wanted = sizes.iter().copied().filter(|&n| n <= largest);
                wanted.collect()
            }
            Self::Beyond { asked: many, n } => {
                let beyond = asked.contains(&many) && !asked.contains(&n);
                asked.iter().copied().chain(beyond.then_some(n)).collect()
            }
        };
        if own.is_empty() { asked.to_vec() } else { own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_a_definition_end_at_what_is_asked_for() {
        let own = Sizes::UpTo(&[100, 1_000, 10_000]);
        assert_eq!(own.given(&[2_000, 500]), [100, 1_000]);
        assert_eq!(own.given(&[50, 70]), [50, 70]);
        assert_eq!(Sizes::Always(7).given(&[2_000]), [7]);
        assert_eq!(Sizes::AsAsked.given(&[2_000, 500]), [2_000, 500]);
        let beyond = Sizes::Beyond { asked: 500, n: 900 };
        assert_eq!(beyond.given(&[2_000, 500]), [2_000, 500, 900]);
        assert_eq!(beyond.given(&[2_000]), [2_000]);
    }
}
