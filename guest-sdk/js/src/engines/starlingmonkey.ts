// StarlingMonkey: has the web's globals; its console goes to the operator's log like that of the other engine.

import { console } from "../globals/console.js";
import "./native.js";

Object.defineProperty(globalThis, "console", { value: console, writable: true, configurable: true });
