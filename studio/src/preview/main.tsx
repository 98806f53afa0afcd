import "../ui/base.css";
import { render } from "preact";

render(<p>Preview</p>, document.getElementById("root") as HTMLElement);
