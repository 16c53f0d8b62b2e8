use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::write::Pp;
use jaq_json::{Num, Val, read};

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
                    let output = in_json(output);
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

/// What JSON does not have as jq writes it, which jaq does not.
fn in_json(value: Val) -> Val {
    match value {
        Val::Num(Num::Float(x)) if x.is_nan() => Val::Null,
        Val::Num(Num::Float(x)) if x.is_infinite() => {
            let sign = if x < 0.0 { "-" } else { "" };
            Val::Num(Num::Dec(format!("{sign}1.7976931348623157e+308").into()))
        }
        Val::BStr(bytes) => Val::utf8_str(String::from_utf8_lossy(&bytes).into_owned()),
        Val::Arr(items) => Val::Arr(items.iter().cloned().map(in_json).collect::<Vec<_>>().into()),
        Val::Obj(fields) => {
            let key = |key: &Val| match key {
                Val::TStr(_) => key.clone(),
                key => Val::utf8_str(in_json(key.clone()).to_string()),
            };
            Val::obj(fields.iter().map(|(name, value)| (key(name), in_json(value.clone()))).collect())
        }
        other => other,
    }
}
