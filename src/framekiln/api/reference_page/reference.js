/** Draws the API reference from /openapi.json. All text is inserted as text, never as HTML. */

const METHODS = ["get", "post", "put", "patch", "delete"];
const PREFIX = "#/components/schemas/";
const MAX_DEPTH = 12;

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.replace(PREFIX, "");
  for (const word of ["anyOf", "oneOf", "allOf"]) {
    if (schema[word]) return [...new Set(schema[word].map(typeOf))].join(word === "allOf" ? " & " : " | ");
  }
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
  if (schema.type === "array") return `array of ${schema.items ? typeOf(schema.items) : "any"}`;
  return [schema.type ?? "any"].flat().join(" | ");
}

function limitsOf(schema) {
  const words = { minimum: "≥", exclusiveMinimum: ">", maximum: "≤", maxLength: "length ≤", maxItems: "items ≤" };
  const limits = Object.entries(words).filter(([key]) => key in schema);
  return limits.map(([key, word]) => `${word} ${schema[key]}`).join(", ");
}

/** The named schemas that a schema refers to, its own branches included. */
function namesIn(schema) {
  if (schema.$ref) return [schema.$ref.replace(PREFIX, "")];
  const below = [schema.anyOf, schema.oneOf, schema.allOf, schema.items && [schema.items]];
  return [...new Set(below.filter(Boolean).flat().flatMap(namesIn))];
}

function fieldsOf(schema, shared, depth = 0) {
  const box = make("div");
  if (schema.description) box.append(make("p", {}, schema.description));
  const entries = Object.entries(schema.properties ?? {});
  if (entries.length > 0) {
    const rows = entries.map(([name, value]) =>
      make(
        "tr",
        {},
        make("td", {}, make("code", {}, name), (schema.required ?? []).includes(name) ? " *" : ""),
        make("td", {}, make("code", {}, typeOf(value)), " ", limitsOf(value)),
        make("td", {}, value.description ?? ""),
      ),
    );
    box.append(make("table", {}, ...rows));
  }
  const parts = entries.length > 0 ? entries.map(([, value]) => value) : [schema];
  const names = [...new Set(parts.flatMap(namesIn))];
  for (const name of depth < MAX_DEPTH ? names : []) {
    const details = make("details", {}, make("summary", {}, make("code", {}, name)));
    // Drawn when opened: layers may contain layers.
    const draw = () => details.append(fieldsOf(shared[name] ?? {}, shared, depth + 1));
    details.addEventListener("toggle", draw, { once: true });
    box.append(details);
  }
  return box;
}

function bodyOf(operation, shared) {
  const json = operation.requestBody?.content?.["application/json"];
  if (!json) return null;
  const box = make("section", {}, make("h4", {}, "Body"), fieldsOf(json.schema ?? {}, shared));
  if (json.example) box.append(make("pre", { tabindex: "0" }, JSON.stringify(json.example, null, 2)));
  return box;
}

function parametersOf(operation) {
  if (!operation.parameters?.length) return null;
  const rows = operation.parameters.map((each) =>
    make(
      "tr",
      {},
      make("td", {}, make("code", {}, each.name), each.required ? " *" : ""),
      make("td", {}, `${each.in}, `, make("code", {}, typeOf(each.schema ?? {})), " ", limitsOf(each.schema ?? {})),
      make("td", {}, each.description ?? each.schema?.description ?? ""),
    ),
  );
  return make("section", {}, make("h4", {}, "Parameters"), make("table", {}, ...rows));
}

function responsesOf(operation, shared) {
  const box = make("section", {}, make("h4", {}, "Responses"));
  for (const [status, response] of Object.entries(operation.responses ?? {})) {
    const types = Object.keys(response.content ?? {}).join(", ");
    const line = make("p", {}, make("code", {}, status), ` ${response.description ?? ""} ${types}`);
    const schema = response.content?.["application/json"]?.schema;
    box.append(line);
    if (schema && status !== "default") box.append(fieldsOf(schema, shared));
  }
  return box;
}

function articleOf(title, method, operation, shared) {
  const id = operation.operationId ?? title;
  const heading = make("h3", {}, make("span", { class: "method" }, method.toUpperCase()), title);
  const key = operation.security ? make("p", {}, "Needs an API key.") : null;
  return make(
    "article",
    { id },
    heading,
    make("p", {}, operation.description ?? operation.summary ?? ""),
    key,
    parametersOf(operation),
    bodyOf(operation, shared),
    responsesOf(operation, shared),
  );
}

function* operationsOf(api) {
  for (const group of [api.paths, api.webhooks ?? {}]) {
    for (const [path, item] of Object.entries(group)) {
      for (const method of METHODS) if (item[method]) yield { path, method, operation: item[method] };
    }
  }
}

function draw(api) {
  const shared = api.components?.schemas ?? {};
  const content = document.getElementById("content");
  const index = document.getElementById("index");
  content.replaceChildren(make("h1", {}, `${api.info.title} ${api.info.version}`), make("p", {}, api.info.description ?? ""));
  const byTag = new Map();
  for (const each of operationsOf(api)) {
    const tag = each.operation.tags?.[0] ?? "other";
    byTag.set(tag, [...(byTag.get(tag) ?? []), each]);
  }
  const groups = [];
  for (const [tag, operations] of byTag) {
    content.append(make("h2", {}, tag));
    const group = { title: make("li", { class: "tag" }, tag), items: [] };
    groups.push(group);
    index.append(group.title);
    for (const { path, method, operation } of operations) {
      content.append(articleOf(path, method, operation, shared));
      const link = make("a", { href: `#${operation.operationId ?? path}`, title: path }, operation.summary ?? path);
      const item = make("li", { "data-words": `${method} ${path} ${operation.summary ?? ""}`.toLowerCase() }, link);
      group.items.push(item);
      index.append(item);
    }
  }
  const nothing = make("li", { hidden: "" }, "No route has these words.");
  index.append(nothing);
  document.getElementById("search").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const { title, items } of groups) {
      for (const item of items) item.hidden = !item.dataset.words.includes(wanted);
      title.hidden = items.every((item) => item.hidden);
    }
    nothing.hidden = groups.some(({ title }) => !title.hidden);
  });
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

try {
  const response = await fetch("/openapi.json");
  if (!response.ok) throw new Error(`/openapi.json answered with status ${response.status}`);
  draw(await response.json());
} catch (error) {
  document.getElementById("content").replaceChildren(make("p", {}, `The reference cannot be shown: ${error.message}`));
}
