/**
 * The page at /docs. The browser builds it from /openapi.json, so the two cannot differ. It loads nothing from other sites. It looks
 * like the dashboard: the colours are those of `packages/dashboard/src/style/tokens.css`.
 */
const STYLE = `
  :root { color-scheme: light dark; --ground: #f6f7f9; --surface: #ffffff; --line: #e1e5eb; --text: #1a2230; --muted: #566072;
    --accent: #2b59c8; --accent-ground: #e9effc; --on-accent: #ffffff; --good: #176f43; --bad: #b0332a; --warn: #7f5200;
    --sans: Inter, "Segoe UI Variable Text", "Segoe UI", system-ui, -apple-system, Roboto, "Noto Sans", sans-serif;
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, monospace; }
  @media (prefers-color-scheme: dark) {
    :root { --ground: #10151b; --surface: #171d25; --line: #29323e; --text: #e4e9f0; --muted: #9ba7b8;
      --accent: #86abff; --accent-ground: #1e2b47; --on-accent: #0d1524; --good: #66cc98; --bad: #ff9a8f; --warn: #ecbd62; }
  }
  * { box-sizing: border-box; }
  body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.5 var(--sans); }
  header { position: sticky; top: 0; display: flex; align-items: center; gap: 24px; height: 54px; padding: 0 24px;
    background: var(--surface); border-bottom: 1px solid var(--line); }
  header a { color: var(--muted); text-decoration: none; }
  header a:hover, header [aria-current] { color: var(--text); }
  .brand { display: flex; align-items: center; gap: 9px; color: var(--text); font-weight: 650; }
  .brand rect { fill: var(--accent); }
  .brand path { fill: none; stroke: var(--on-accent); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
  main, .lead { max-width: 64rem; margin: 0 auto; padding: 0 16px 48px; }
  .lead { padding: 24px 16px 0; }
  h1 { margin: 0; font-size: 22px; }
  h2 { margin: 28px 0 2px; font-size: 17px; text-transform: capitalize; }
  p { margin: 4px 0 12px; color: var(--muted); }
  a { color: var(--accent); }
  details { background: var(--surface); border: 1px solid var(--line); border-radius: 9px; margin: 6px 0; overflow: hidden; }
  details details { border-radius: 6px; background: var(--ground); }
  summary { display: flex; flex-wrap: wrap; gap: 4px 12px; cursor: pointer; padding: 9px 14px; }
  summary:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
  summary .what { color: var(--muted); }
  .method { min-width: 4.2rem; font: 600 13px/1.7 var(--mono); color: var(--accent); }
  .method.post { color: var(--good); } .method.patch { color: var(--warn); } .method.delete { color: var(--bad); }
  code, pre { font: 13px/1.6 var(--mono); overflow-wrap: anywhere; }
  .body { padding: 2px 14px 12px; overflow-x: auto; }
  h3 { margin: 12px 0 4px; font-size: 13px; color: var(--muted); }
  table { width: 100%; border-collapse: collapse; }
  th { position: absolute; left: -9999px; }
  td { padding: 5px 12px 5px 0; border-top: 1px solid var(--line); vertical-align: top; }
  td.type { color: var(--muted); }
  td code { white-space: nowrap; }
  @media (max-width: 640px) {
    td { display: block; padding: 0; border: 0; }
    td:first-child { padding-top: 6px; border-top: 1px solid var(--line); }
    td code { white-space: normal; }
  }
  pre { margin: 0; padding: 8px 14px 12px; overflow: auto; }
`;

const SCRIPT = `
  const main = document.getElementById("main");
  const element = (name, className, ...children) => {
    const made = document.createElement(name);
    if (className !== "") made.className = className;
    made.append(...children);
    return made;
  };
  let components = {};
  const resolved = (schema) => {
    const path = schema?.$ref?.split("/").slice(2);
    return path === undefined ? (schema ?? {}) : (path.reduce((place, name) => place?.[name], components) ?? {});
  };
  const typeOf = (schema) => {
    if (schema.enum !== undefined) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
    const types = [schema.type ?? "any"].flat();
    return types.map((each) => (each === "array" ? typeOf(resolved(schema.items)) + "[]" : each)).join(" | ");
  };
  const rowsOf = (given, prefix, depth) => {
    const schema = resolved(given);
    const required = new Set(schema.required ?? []);
    return Object.entries(schema.properties ?? {}).flatMap(([name, each]) => {
      const property = resolved(each);
      const isList = property.items !== undefined;
      const inner = isList ? property.items : property;
      const row = [prefix + name + (required.has(name) ? "" : "?"), typeOf(property), property.description ?? ""];
      return [row, ...(depth > 0 ? rowsOf(inner, prefix + name + (isList ? "[]." : "."), depth - 1) : [])];
    });
  };
  const tableOf = (title, rows) => {
    if (rows.length === 0) return [];
    const head = element("tr", "", ...["field", "type", "description"].map((text) => element("th", "", text)));
    const lines = rows.map(([name, type, text]) =>
      element("tr", "", element("td", "", element("code", "", name)), element("td", "type", type), element("td", "", text)));
    return [element("h3", "", title), element("table", "", head, ...lines)];
  };
  const jsonOf = (holder) => Object.entries(holder?.content ?? {}).find(([type]) => type === "application/json")?.[1].schema;
  const operationOf = (path, verb, operation) => {
    const line = element("summary", "", element("span", "method " + verb, verb.toUpperCase()),
      element("code", "", path), element("span", "what", operation.summary ?? ""));
    const { parameters = [], requestBody, responses } = operation;
    const asked = parameters.map(resolved).filter((each) => each.in === "path" || each.in === "query")
      .map((each) => [each.name + (each.required ? "" : "?"), each.in, each.description ?? each.schema?.description ?? ""]);
    const raw = element("details", "", element("summary", "", "As JSON schema"),
      element("pre", "", JSON.stringify({ parameters, requestBody, responses }, null, 2)));
    const body = element("div", "body",
      ...(operation.description === undefined ? [] : [element("p", "", operation.description)]),
      ...tableOf("Parameters", asked),
      ...tableOf("Request body", rowsOf(jsonOf(resolved(requestBody)), "", 2)),
      ...tableOf("Response", rowsOf(jsonOf(resolved(responses["200"] ?? responses["201"])), "", 2)),
      raw);
    return element("details", "", line, body);
  };
  fetch("/openapi.json").then((answer) => answer.json()).then((api) => {
    components = api.components ?? {};
    main.textContent = "";
    for (const tag of api.tags) {
      main.append(element("h2", "", tag.name), element("p", "", tag.description ?? ""));
      for (const [path, verbs] of Object.entries(api.paths))
        for (const [verb, operation] of Object.entries(verbs))
          if (verb !== "head" && operation.tags?.includes(tag.name)) main.append(operationOf(path, verb, operation));
    }
  }, () => { main.textContent = "The API document could not be loaded. Reload this page to try again."; });
`;

export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>API docs · Tenure</title>
<style>${STYLE}</style>
<header>
  <a class="brand" href="/">
    <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
      <rect width="32" height="32" rx="8"></rect><path d="M7 20.5h18l1-9-5.500 4L16 8l-4.500 7.500L6 11.500zM8 24.500h16"></path>
    </svg>
    Tenure
  </a>
  <nav aria-label="Pages"><a href="/">Dashboard</a></nav>
  <span aria-current="page">API docs</span>
</header>
<div class="lead">
  <h1>HTTP API</h1>
  <p>Everything here is made from <a href="/openapi.json">openapi.json</a>, which programs can read.</p>
</div>
<main id="main">Loading…</main>
<script>${SCRIPT}</script>
</html>
`;
