// Starts everything; what fails is said, not swallowed.
function failed(error) {
  tell(error.message);
  fill("This cannot be opened", make("p", { class: "missing" }, error.message));
}

addEventListener("unhandledrejection", (event) => failed(event.reason));
document.addEventListener("click", clicked);
document.addEventListener("keydown", moved);
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
addEventListener("hashchange", reveal);
startTheme();
prepare(document.querySelector("main"));
document.addEventListener("toggle", (event) => unfold(event.target), true);
reveal();
startTour();
startPrint();
