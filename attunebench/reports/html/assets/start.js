// Whether the page is light or dark: as the system is, until somebody decides.
const root = document.documentElement;
root.classList.add("js");

function dark() {
  const chosen = root.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function remembered(value) {
  // A page opened from a file may have no storage; then it forgets.
  try {
    if (value !== undefined) localStorage.setItem("attunebench-theme", value);
    return localStorage.getItem("attunebench-theme");
  } catch {
    return null;
  }
}

function startTheme() {
  const button = document.getElementById("theme");
  const known = remembered();
  if (known === "dark" || known === "light") root.dataset.theme = known;
  const show = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    remembered(root.dataset.theme);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}
