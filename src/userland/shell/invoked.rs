//! What the words of a command invoke: a shell, a builtin of one, or a program.

/// The builtins of a shell.
pub const BUILTINS: &[&str] = &[
    ":", "break", "cd", "continue", "exit", "export", "false", "local", "read", "readonly", "return", "set", "shift",
    "sleep", "trap", "true", "unset", "wait",
];

/// The flags, the script and the arguments of a command that is a shell's: `sh -ec SCRIPT`.
pub fn of_shell<'a>(words: &'a [&'a str]) -> Option<(&'a str, &'a str, &'a [&'a str])> {
    match words {
        [shell, flags, script, arguments @ ..] if is_shell(shell) => {
            let letters = flags.strip_prefix('-').filter(|letters| letters.bytes().all(|c| b"celux".contains(&c)))?;
            letters.contains('c').then_some((letters, *script, arguments))
        }
        _ => None,
    }
}

/// Whether a command is a shell that reads its lines from the terminal or from a pipe: `sh`, `bash -l`.
pub fn reads_commands(words: &[String]) -> bool {
    let [shell, flags @ ..] = words else { return false };
    let is_flag = |word: &String| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        word == "--login" || (!letters.is_empty() && letters.bytes().all(|c| b"eilsux".contains(&c)))
    };
    is_shell(shell) && flags.iter().all(is_flag)
}

/// Whether a word starts a shell.
pub fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("sh" | "bash" | "ash"))
}

/// The name of a program that a word starts: an image has the usual ones in the usual places.
pub fn program(word: &str) -> &str {
    const PLACES: &[&str] = &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"];
    word.rsplit_once('/').filter(|(place, _)| PLACES.contains(place)).map_or(word, |(_, name)| name)
}
