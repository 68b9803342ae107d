//! What well-known servers print when they start, as far as people look for it; and what databases say that have been
//! given no password.
//!
//! Left out: what they print later, but for the lines of requests ([`super::site`]); what goes on while a database is made.

use super::registry::{base_name, is_official};
use crate::cri::ContainerConfig;
use network::disk::KERNEL;
use object::time::Instant;

/// A database whose program does not start until it is told a password.
struct Database {
    image: &'static str,
    /// The variables; any of them is enough.
    variables: &'static [&'static str],
    says: &'static str,
}

const DATABASES: &[Database] = &[
    Database {
        image: "postgres",
        variables: &["POSTGRES_PASSWORD", "POSTGRES_PASSWORD_FILE", "POSTGRES_HOST_AUTH_METHOD"],
        says: "Error: Database is uninitialized and superuser password is not specified.\n       \
               You must specify POSTGRES_PASSWORD to a non-empty value for the\n       \
               superuser. For example, \"-e POSTGRES_PASSWORD=password\" on \"docker run\".\n\n       \
               You may also use \"POSTGRES_HOST_AUTH_METHOD=trust\" to allow all\n       \
               connections without a password. This is *not* recommended.\n\n       \
               See PostgreSQL documentation about \"trust\":\n       \
               https://www.postgresql.org/docs/current/auth-trust.html",
    },
    Database {
        image: "mysql",
        variables: &[
            "MYSQL_ROOT_PASSWORD",
            "MYSQL_ROOT_PASSWORD_FILE",
            "MYSQL_ALLOW_EMPTY_PASSWORD",
            "MYSQL_RANDOM_ROOT_PASSWORD",
        ],
        says: "TIME+00:00 [Note] [Entrypoint]: Entrypoint script for MySQL Server VERSION-1.el9 started.\n\
               TIME+00:00 [ERROR] [Entrypoint]: Database is uninitialized and password option is not specified\n    \
               You need to specify one of the following as an environment variable:\n    \
               - MYSQL_ROOT_PASSWORD\n    - MYSQL_ALLOW_EMPTY_PASSWORD\n    - MYSQL_RANDOM_ROOT_PASSWORD",
    },
    Database {
        image: "mariadb",
        variables: &[
            "MARIADB_ROOT_PASSWORD",
            "MARIADB_ROOT_PASSWORD_FILE",
            "MARIADB_ROOT_PASSWORD_HASH",
            "MARIADB_ALLOW_EMPTY_ROOT_PASSWORD",
            "MARIADB_RANDOM_ROOT_PASSWORD",
            "MYSQL_ROOT_PASSWORD",
            "MYSQL_ROOT_PASSWORD_FILE",
            "MYSQL_ALLOW_EMPTY_PASSWORD",
            "MYSQL_RANDOM_ROOT_PASSWORD",
        ],
        says: "TIME+00:00 [Note] [Entrypoint]: Entrypoint script for MariaDB Server 1:VERSION+maria~ubu2404 started.\n\
               TIME+00:00 [ERROR] [Entrypoint]: Database is uninitialized and password option is not specified\n\
               \tYou need to specify one of MARIADB_ROOT_PASSWORD, MARIADB_ROOT_PASSWORD_HASH, \
               MARIADB_ALLOW_EMPTY_ROOT_PASSWORD and MARIADB_RANDOM_ROOT_PASSWORD",
    },
];

/// What servers print, with the version that is meant where the tag does not say.
const STARTS: &[(&str, &str, &str)] = &[
    (
        "nginx",
        "1.29.4",
        "/docker-entrypoint.sh: /docker-entrypoint.d/ is not empty, will attempt to perform configuration\n\
         /docker-entrypoint.sh: Looking for shell scripts in /docker-entrypoint.d/\n\
         /docker-entrypoint.sh: Launching /docker-entrypoint.d/10-listen-on-ipv6-by-default.sh\n\
         10-listen-on-ipv6-by-default.sh: info: Getting the checksum of /etc/nginx/conf.d/default.conf\n\
         10-listen-on-ipv6-by-default.sh: info: Enabled listen on IPv6 in /etc/nginx/conf.d/default.conf\n\
         /docker-entrypoint.sh: Sourcing /docker-entrypoint.d/15-local-resolvers.envsh\n\
         /docker-entrypoint.sh: Launching /docker-entrypoint.d/20-envsubst-on-templates.sh\n\
         /docker-entrypoint.sh: Launching /docker-entrypoint.d/30-tune-worker-processes.sh\n\
         /docker-entrypoint.sh: Configuration complete; ready for start up\n\
         DATE [notice] 1#1: using the \"epoll\" event method\n\
         DATE [notice] 1#1: nginx/VERSION\n\
         DATE [notice] 1#1: OS: Linux KERNEL\n\
         DATE [notice] 1#1: getrlimit(RLIMIT_NOFILE): 1048576:1048576\n\
         DATE [notice] 1#1: start worker processes\n\
         DATE [notice] 1#1: start worker process 29",
    ),
    (
        "httpd",
        "2.4.66",
        "[DAY] [mpm_event:notice] [pid 1:tid 1] AH00489: Apache/VERSION (Unix) configured -- resuming normal operations\n\
         [DAY] [core:notice] [pid 1:tid 1] AH00094: Command line: 'httpd -D FOREGROUND'",
    ),
    (
        "redis",
        "8.4.0",
        "1:C SHORT * oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo\n\
         1:C SHORT * Redis version=VERSION, bits=64, commit=00000000, modified=0, pid=1, just started\n\
         1:C SHORT # Warning: no config file specified, using the default config. In order to specify a config file use \
         redis-server /path/to/redis.conf\n\
         1:M SHORT * monotonic clock: POSIX clock_gettime\n\
         1:M SHORT * Running mode=standalone, port=6379.\n\
         1:M SHORT * Server initialized\n\
         1:M SHORT * Ready to accept connections tcp",
    ),
    (
        "postgres",
        "18.1",
        "PostgreSQL init process complete; ready for start up.\n\n\
         TIME.000 UTC [1] LOG:  starting PostgreSQL VERSION on x86_64-pc-linux-gnu, compiled by gcc, 64-bit\n\
         TIME.000 UTC [1] LOG:  listening on IPv4 address \"0.0.0.0\", port 5432\n\
         TIME.000 UTC [1] LOG:  listening on IPv6 address \"::\", port 5432\n\
         TIME.000 UTC [1] LOG:  listening on Unix socket \"/var/run/postgresql/.s.PGSQL.5432\"\n\
         TIME.000 UTC [1] LOG:  database system is ready to accept connections",
    ),
    (
        "mysql",
        "9.5.0",
        "TIME+00:00 [Note] [Entrypoint]: Entrypoint script for MySQL Server VERSION-1.el9 started.\n\
         TIME+00:00 [Note] [Entrypoint]: MySQL init process done. Ready for start up.\n\
         ZONED 0 [System] [MY-010931] [Server] /usr/sbin/mysqld: ready for connections. Version: 'VERSION'  socket: \
         '/var/run/mysqld/mysqld.sock'  port: 3306  MySQL Community Server - GPL.",
    ),
    (
        "mariadb",
        "12.1.2",
        "TIME+00:00 [Note] [Entrypoint]: Entrypoint script for MariaDB Server 1:VERSION+maria~ubu2404 started.\n\
         TIME+00:00 [Note] [Entrypoint]: MariaDB init process done. Ready for start up.\n\
         TIME 0 [Note] mariadbd: ready for connections.\n\
         Version: 'VERSION-MariaDB-ubu2404'  socket: '/run/mysqld/mysqld.sock'  port: 3306  mariadb.org binary distribution",
    ),
];

/// Whether a container runs what its image is for: flags alone are that one's.
fn runs_its_own(config: &ContainerConfig) -> bool {
    let is_flag = config.args.first().is_none_or(|word| word.starts_with('-'));
    is_official(&config.image) && config.command.is_empty() && is_flag
}

/// The database that does not start in a container, because it is told no password.
fn database(config: &ContainerConfig) -> Option<&'static Database> {
    let database = DATABASES.iter().find(|one| one.image == base_name(&config.image) && runs_its_own(config))?;
    let is_told = |(name, value): &(String, String)| database.variables.contains(&name.as_str()) && !value.is_empty();
    (!config.envs.iter().any(is_told)).then_some(database)
}

/// Whether a container's database ends at once, because it is told no password.
pub fn lacks_password(config: &ContainerConfig) -> bool {
    database(config).is_some()
}

/// The version of the server in an image: what the tag says, or the one that is meant where it does not.
pub fn version(image: &str) -> &str {
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag).split(['-', '@']).next().unwrap_or_default();
    let meant =
        || STARTS.iter().find(|(known, ..)| base_name(image).starts_with(known)).map_or("", |(_, meant, _)| *meant);
    if tag.starts_with(|first: char| first.is_ascii_digit()) { tag } else { meant() }
}

/// The lines that a container's process prints as it starts.
pub fn of_start(config: &ContainerConfig, now: Instant) -> Vec<String> {
    let name = base_name(&config.image);
    let Some((.., text)) = STARTS.iter().find(|(known, ..)| *known == name).filter(|_| runs_its_own(config)) else {
        return Vec::new();
    };
    let text = database(config).map_or(*text, |database| database.says);
    let at = |format: &str| jiff::fmt::strtime::format(format, now.timestamp()).unwrap_or_default();
    let text = text.replace("VERSION", version(&config.image)).replace("KERNEL", KERNEL);
    let text = text.replace("DATE", &at("%Y/%m/%d %H:%M:%S")).replace("TIME", &at("%Y-%m-%d %H:%M:%S"));
    let text = text.replace("DAY", &at("%a %b %d %H:%M:%S.000000 %Y")).replace("SHORT", &at("%d %b %Y %H:%M:%S.000"));
    text.replace("ZONED", &at("%Y-%m-%dT%H:%M:%S.000000Z")).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(image: &str, envs: &[(&str, &str)], args: &[&str]) -> ContainerConfig {
        let envs: Vec<(String, String)> = envs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let args = args.iter().map(|word| (*word).to_owned()).collect();
        ContainerConfig { image: image.to_owned(), envs: envs.into(), args, ..ContainerConfig::default() }
    }

    #[test]
    fn a_database_without_a_password_says_so() {
        for (image, variable, says) in [
            ("postgres:17", "POSTGRES_PASSWORD", "superuser password is not specified"),
            ("mysql:8.4", "MYSQL_ALLOW_EMPTY_PASSWORD", "    - MYSQL_ROOT_PASSWORD"),
            ("docker.io/library/mariadb", "MARIADB_ROOT_PASSWORD", "You need to specify one of MARIADB_ROOT_PASSWORD,"),
        ] {
            let bare = container(image, &[], &[]);
            assert!(lacks_password(&bare) && of_start(&bare, Instant(0)).iter().any(|line| line.contains(says)));
            assert!(lacks_password(&container(image, &[(variable, "")], &["--verbose"])), "{image}");
            let told = container(image, &[(variable, "yes")], &[]);
            assert!(!lacks_password(&told), "{image}");
            let lines = of_start(&told, Instant(0));
            let ready = ["ready to accept connections", "ready for connections"];
            assert!(lines.iter().any(|line| ready.iter().any(|text| line.contains(text))), "{lines:?}");
            assert!(!lacks_password(&container(image, &[], &["sh", "-c", "true"])), "something else runs");
        }
        assert!(
            !lacks_password(&container("bitnami/postgresql", &[], &[])),
            "the variables of that image are not known"
        );
    }

    #[test]
    fn lines_have_their_time_and_version() {
        let lines = of_start(&container("nginx:1.27.4-alpine", &[], &[]), Instant(1_000_000_000));
        assert_eq!(lines.len(), 15);
        assert_eq!(lines[8], "/docker-entrypoint.sh: Configuration complete; ready for start up");
        assert_eq!(lines[10], "2026/01/01 00:00:01 [notice] 1#1: nginx/1.27.4");
        let redis = of_start(&container("redis", &[], &[]), Instant(0));
        assert_eq!(
            redis.last().map(String::as_str),
            Some("1:M 01 Jan 2026 00:00:00.000 * Ready to accept connections tcp")
        );
        assert!(of_start(&container("shop/cart:1", &[], &[]), Instant(0)).is_empty());
    }
}
