//! The book's examples.

macro_rules! pages {
    ($($page:ident: $path:literal),*) => {$(
        #[doc = include_str!(concat!("../../../docs/book/src/", $path))]
        struct $page;
    )*};
}
pages!(
    FirstHour: "first-hour.md",
    Words: "words.md",
    Laws: "laws.md",
    Wires: "wires.md",
    Functions: "functions.md",
    Errors: "errors.md",
    Stages: "stages.md",
    Keys: "keys.md",
    Async: "async.md",
    Sinks: "sinks.md",
    Ends: "ends.md",
    Upgrades: "upgrades.md",
    Production: "production.md",
    Serving: "serving.md",
    Failures: "failures.md",
    Limits: "limits.md",
    ComingFrom: "coming-from.md",
    Shell: "shell.md",
    Text: "text.md",
    Windows: "windows.md",
    Producers: "producers.md",
    Watching: "watching.md",
    Programs: "programs.md",
    ProgramLog: "program-log.md",
    ProgramService: "program-service.md",
    ProgramSensors: "program-sensors.md",
    ProgramCrawler: "program-crawler.md",
    ProgramConfigured: "program-configured.md",
    Population: "population.md",
    Messages: "messages.md",
    NotApplicable: "not-applicable.md"
);
