use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::write::Pp;
use jaq_json::{Val, read};

/// The answer of jaq, value by value, as the program `jaq` does it: its output before the first bytes that are not
/// JSON, and the number of values for which the filter fails.
pub(crate) fn answer(filter: &str, json: &[u8]) -> Result<(String, usize), String> {
    let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let funs = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let arena = Arena::default();
    let modules = Loader::new(defs).load(&arena, File { code: filter, path: () }).map_err(|e| format!("{e:?}"))?;
    let compiler = Compiler::<_, data::JustLut<Val>>::default().with_funs(funs);
    let filter = compiler.compile(modules).map_err(|e| format!("{e:?}"))?;
    let (mut out, mut failures) = (Vec::new(), 0);
    for value in read::parse_many(json).map_while(Result::ok) {
        let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
        for output in filter.id.run((context, value)).map(unwrap_valr) {
            match output {
                Ok(output) => {
                    jaq_json::write::write(&mut out, &Pp::default(), 0, &output).expect("a vector");
                    out.push(b'\n');
                }
                Err(_) => {
                    failures += 1;
                    break;
                }
            }
        }
    }
    Ok((String::from_utf8_lossy(&out).into_owned(), failures))
}
