/** What the pages of the site do: search, copy a code block, choose a theme, open the menu on a narrow screen. */
const at = (id) => document.getElementById(id);
const base = document.documentElement.dataset.root;

// Only with this script they do something.
for (const element of document.querySelectorAll("header [hidden]:not(ol)")) element.hidden = false;

/* The theme */

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";

function setTheme(theme) {
  if (theme !== null) document.documentElement.dataset.theme = theme;
  at("theme").textContent = isDark() ? "Light" : "Dark";
}

setTheme(localStorage.getItem("theme"));
dark.addEventListener("change", () => setTheme(null));
at("theme").addEventListener("click", () => {
  const theme = isDark() ? "light" : "dark";
  localStorage.setItem("theme", theme);
  setTheme(theme);
});

/* The menu */

at("menu").addEventListener("click", () => {
  const isOpen = at("navigation").classList.toggle("open");
  at("menu").setAttribute("aria-expanded", String(isOpen));
});

/* Copying */

for (const block of document.querySelectorAll(".code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", () => void copy(block, button));
  block.append(button);
}

async function copy(block, button) {
  await navigator.clipboard.writeText(block.querySelector("code").textContent);
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

/* The search */

const MAX_RESULTS = 12;
let index = null;

function load(file) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${base}assets/${file}`;
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    document.head.append(script);
  });
}

async function openIndex() {
  await Promise.all([load("minisearch.js"), load("search-index.js")]);
  return window.MiniSearch.loadJSON(window.tenureSearch, {
    fields: ["title", "heading", "text"],
    storeFields: ["title", "heading", "url", "excerpt"],
  });
}

async function search() {
  const query = at("search").value.trim();
  index ??= openIndex();
  const opened = await index;
  // The reader may have typed on while the index was loaded.
  if (query !== at("search").value.trim()) return;
  const options = { prefix: true, fuzzy: 0.15, combineWith: "AND", boost: { heading: 4, title: 3 } };
  const found = query === "" ? [] : opened.search(query, options).slice(0, MAX_RESULTS);
  at("results").replaceChildren(...found.map(resultOf));
  at("results").hidden = found.length === 0;
  at("found").textContent = query !== "" && found.length === 0 ? "Nothing found" : "";
}

function resultOf({ url, title, heading, excerpt }) {
  const link = document.createElement("a");
  link.href = base + url;
  for (const [name, text] of [
    ["strong", heading === title ? title : `${title}: ${heading}`],
    ["span", excerpt],
  ]) {
    const element = document.createElement(name);
    element.textContent = text;
    link.append(element);
  }
  link.addEventListener("click", close);
  const item = document.createElement("li");
  item.append(link);
  return item;
}

function close() {
  at("search").value = "";
  at("results").hidden = true;
  at("found").textContent = "";
}

at("search").addEventListener("input", () => void search());
at("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") at("results").querySelector("a")?.click();
});
document.querySelector(".search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") close();
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const links = [at("search"), ...at("results").querySelectorAll("a")];
  const next = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
  links[next]?.focus();
  event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  at("search").focus();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search")) close();
});
