import { render } from "preact";
import { Dashboard } from "./live/dashboard.js";
import { App } from "./views/app.js";
import { applyTheme } from "./views/theme.js";

applyTheme();

const place = document.getElementById("app");
if (place !== null) {
  const dashboard = new Dashboard();
  dashboard.start();
  render(<App dashboard={dashboard} />, place);
}
