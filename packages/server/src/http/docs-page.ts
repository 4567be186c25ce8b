/** The page at /docs. The browser builds it from /openapi.json, so the two cannot differ. It loads nothing from other sites. */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tenure API</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark; }
  summary { cursor: pointer; padding: .3rem 0; }
  code { font-size: .95em; }
  .method { display: inline-block; min-width: 4.5rem; font-weight: 600; }
  pre { overflow: auto; padding: 1rem; border: 1px solid #8886; border-radius: .3rem; }
</style>
<h1>Tenure API</h1>
<p>The whole document: <a href="/openapi.json">openapi.json</a>.</p>
<main id="main">Loading …</main>
<script>
  const main = document.getElementById("main");
  const element = (name, ...children) => {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  };
  fetch("/openapi.json").then((answer) => answer.json()).then((api) => {
    main.textContent = "";
    for (const tag of api.tags) {
      main.append(element("h2", tag.name), element("p", tag.description));
      for (const [path, verbs] of Object.entries(api.paths)) {
        for (const [verb, operation] of Object.entries(verbs)) {
          if (!operation.tags?.includes(tag.name)) continue;
          const method = element("span", verb.toUpperCase());
          method.className = "method";
          const line = element("summary", method, element("code", path), " — " + (operation.summary ?? ""));
          const { parameters, requestBody, responses } = operation;
          const text = JSON.stringify({ parameters, requestBody, responses }, null, 2);
          main.append(element("details", line, element("pre", text)));
        }
      }
    }
  }, () => { main.textContent = "The document could not be loaded."; });
</script>
</html>
`;
