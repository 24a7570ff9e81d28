// Starts everything; what fails is said, not swallowed.
function failed(error) {
  fill("Cannot show this content", make("p", { class: "missing" }, error.message));
  tell(error.message);
}

addEventListener("unhandledrejection", (event) => failed(event.reason));
document.addEventListener("keydown", moved);
dialog.addEventListener("keydown", stepped);
startTheme();
prepare(document.querySelector("main"));
document.addEventListener("toggle", (event) => unfold(event.target), true);
startSearch();
startConversations();
startTour();
startContents();
startLinks();
startPrint();
