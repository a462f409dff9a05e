import { render } from "preact";
import { App, listenForKeys } from "./app";
import "./style.css";

listenForKeys();
render(<App />, document.getElementById("app")!);
