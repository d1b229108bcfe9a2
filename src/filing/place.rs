//! Where the entry of a timer is, as far as the timer's card tells.

use crate::geometry::LEVELS;

/// What kind of list holds the entry of a timer, in one word.
///
/// A card does not follow its entry down the levels: a cascade that has nothing to look up in the
/// slots does not touch them. So a place names the level that the entry was filed on, and the
/// entry is there or further down; with the tick it is filed under, that is enough to find its
/// bucket.
///
/// A mark tells the entries that a sweep has kept from those that it has yet to see.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place(u16);

/// Marks take the lowest bits of a place.
const MARK_BITS: u32 = 2;

impl Place {
    /// Neither in a list nor in the due run.
    pub(crate) const NOWHERE: Self = Self(u16::MAX);
    /// In the sorted part of the due run.
    pub(crate) const RUN: Self = Self(u16::MAX - 1);
    /// In the heap of the due run.
    pub(crate) const HEAP: Self = Self(u16::MAX - 2);

    /// In a list of the kind, and not kept by a sweep.
    #[inline]
    pub(crate) const fn filed(kind: Kind) -> Self {
        Self((kind.0 as u16) << MARK_BITS)
    }

    /// In a list of the kind, and kept by a sweep of that list: every other one gives another mark.
    #[inline]
    pub(crate) const fn kept(kind: Kind, is_odd: bool) -> Self {
        Self(((kind.0 as u16) << MARK_BITS) + 1 + is_odd as u16)
    }

    #[inline]
    pub(crate) const fn is_due(self) -> bool {
        self.0 == Self::RUN.0 || self.0 == Self::HEAP.0
    }

    #[inline]
    pub(crate) const fn is_on_level(self) -> bool {
        self.0 < (LEVELS as u16) << MARK_BITS
    }

    /// The kind of list, without meaning for a timer that is in none.
    #[inline]
    pub(crate) const fn kind(self) -> Kind {
        Kind((self.0 >> MARK_BITS) as u8)
    }

    /// Whether a timer with this place may have its entry in a list of the kind: it was filed in
    /// such a list, or on a level above it.
    #[inline]
    pub(crate) const fn reaches(self, kind: Kind) -> bool {
        let filed = self.0 >> MARK_BITS;
        if (kind.0 as usize) < LEVELS {
            filed >= kind.0 as u16 && filed < LEVELS as u16
        } else {
            filed == kind.0 as u16
        }
    }
}

/// What all lists of a level have in common; each list that is on no level is a kind by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind(u8);

impl Kind {
    #[inline]
    pub(crate) const fn level(level: usize) -> Self {
        Self(level as u8)
    }

    /// The kind of a list that is on no level, by its number.
    #[inline]
    pub(crate) const fn apart(list: usize) -> Self {
        Self((LEVELS + list) as u8)
    }

    /// The level, or the number of the list that is on none.
    #[inline]
    pub(crate) const fn level_or_apart(self) -> Result<usize, usize> {
        let kind = self.0 as usize;
        if kind < LEVELS {
            Ok(kind)
        } else {
            Err(kind - LEVELS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_reaches_its_level_and_those_below_whatever_its_mark() {
        let level_2 = Kind::level(2);
        for place in [
            Place::filed(level_2),
            Place::kept(level_2, false),
            Place::kept(level_2, true),
        ] {
            let reached: [bool; LEVELS] =
                core::array::from_fn(|level| place.reaches(Kind::level(level)));
            assert_eq!(reached, [true, true, true, false]);
            assert!(place.is_on_level() && !place.is_due());
            assert!(!place.reaches(Kind::apart(0)));
        }
    }

    #[test]
    fn place_apart_reaches_nothing_else() {
        for apart in 0..3 {
            let place = Place::kept(Kind::apart(apart), true);
            let reached = |list: &usize| place.reaches(Kind::apart(*list));
            assert!((0..3).filter(reached).eq([apart]));
            assert!((0..LEVELS).all(|level| !place.reaches(Kind::level(level))));
        }
    }

    #[test]
    fn place_outside_of_all_lists_reaches_none() {
        for place in [Place::NOWHERE, Place::RUN, Place::HEAP] {
            assert!((0..LEVELS).all(|level| !place.reaches(Kind::level(level))));
            assert!((0..3).all(|list| !place.reaches(Kind::apart(list))));
            assert!(!place.is_on_level());
        }
    }
}
