//! Chance, seeded: every name suffix and uid of a run comes from one generator, so the same seed gives the same
//! names.

use std::fmt;

/// What generated names are made of. Mirrors `k8s.io/apimachinery/pkg/util/rand`: no vowels and no digits that look
/// like letters, so that no name spells a word.
const ALPHANUMS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// How many random characters follow a `generateName`.
const SUFFIX_LEN: usize = 5;

/// A seeded generator: splitmix64 of Steele, Lea and Flood, one word of state.
#[derive(Clone, PartialEq, Eq)]
pub struct Random {
    /// Counts up by an odd constant; each output is this counter, mixed.
    state: u64,
}

impl Random {
    /// The generator of a run with this seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to, but without, `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // The high half of the product spreads the 64 bits over n without a division.
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Five characters for a `generateName`, as in `web-7d9c5b8f6b-x2x4z`.
    pub fn suffix(&mut self) -> String {
        self.alphanums(SUFFIX_LEN)
    }

    /// `len` characters of the alphabet of generated names. Mirrors `rand.String`.
    fn alphanums(&mut self, len: usize) -> String {
        (0..len).map(|_| char::from(ALPHANUMS[self.below(ALPHANUMS.len() as u64) as usize])).collect()
    }

    /// A version 4 UUID, as `metadata.uid` has.
    pub fn uid(&mut self) -> String {
        let bits = (u128::from(self.next_u64()) << 64) | u128::from(self.next_u64());
        let version_4 = (bits & !(0xf << 76)) | (4 << 76);
        let bits = (version_4 & !(0b11 << 62)) | (0b10 << 62);
        let mut uid = String::with_capacity(36);
        for digit in 0..32 {
            if matches!(digit, 8 | 12 | 16 | 20) {
                uid.push('-');
            }
            uid.push(char::from(b"0123456789abcdef"[(bits >> (124 - 4 * digit)) as usize & 0xf]));
        }
        uid
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Random({:#x})", self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        // The first outputs for seed 1234567, from the reference implementation of splitmix64.
        let mut random = Random::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn below_stays_below() {
        let mut random = Random::new(1);
        assert!((0..1000).all(|_| random.below(7) < 7));
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn a_uid_is_a_version_4_uuid() {
        let mut random = Random::new(42);
        for _ in 0..100 {
            let uid = random.uid();
            let parts: Vec<usize> = uid.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{uid}");
            assert_eq!(&uid[14..15], "4", "{uid}");
            assert!("89ab".contains(&uid[19..20]), "{uid}");
        }
    }

    #[test]
    fn a_suffix_spells_no_word() {
        let suffix = Random::new(7).suffix();
        assert_eq!(suffix.len(), 5);
        assert!(suffix.bytes().all(|c| ALPHANUMS.contains(&c)), "{suffix}");
    }
}
