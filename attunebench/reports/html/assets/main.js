// Starts everything; what fails is said, not swallowed.
let unfolded = [];

function failed(error) {
  tell(error.message);
  fill("This cannot be opened", make("p", { class: "missing" }, error.message));
}

addEventListener("unhandledrejection", (event) => failed(event.reason));
document.addEventListener("click", clicked);
document.addEventListener("keydown", moved);
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("main details:not([open])")];
  for (const one of unfolded) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of unfolded) one.open = false;
});
startTheme();
prepare(document.querySelector("main"));
document.addEventListener("toggle", (event) => prepare(event.target), true);
reveal();
startTour();
