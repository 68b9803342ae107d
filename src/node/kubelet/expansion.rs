//! `$(NAME)` in commands, arguments and values of variables. Mirrors `third_party/forked/golang/expansion`.

/// Replaces `$(NAME)` by the value of the variable; what has none stays as it is, and `$$` is a dollar sign.
pub fn expand<'a>(text: &str, value_of: impl Fn(&str) -> Option<&'a str>) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        done += before;
        rest = match after.strip_prefix('(').and_then(|after| after.split_once(')')) {
            Some((name, after)) => {
                done += &value_of(name).map_or_else(|| format!("$({name})"), str::to_owned);
                after
            }
            None => {
                done.push('$');
                after.strip_prefix('$').unwrap_or(after)
            }
        };
    }
    done + rest
}

/// The same with the variables of a container.
pub fn with(variables: &[(String, String)], texts: Option<&Vec<String>>) -> Vec<String> {
    let value_of = |name: &str| variables.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str());
    texts.into_iter().flatten().map(|text| expand(text, value_of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_and_dollars_doubled_are_not() {
        let value_of = |name: &str| (name == "A").then_some("1");
        for (text, expected) in [
            ("$(A) and $(A)", "1 and 1"),
            ("$(B) ${A} $A", "$(B) ${A} $A"),
            ("$$(A) $$$(A)", "$(A) $1"),
            ("$", "$"),
            ("$(A", "$(A"),
        ] {
            assert_eq!(expand(text, value_of), expected, "{text}");
        }
    }
}
