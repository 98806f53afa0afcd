/** What a JSON Schema says about the value at a path. Pure. */

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  description?: string;
}

const MAX_DEPTH = 8;

/** All alternatives of a schema, with their references followed. */
function alternatives(root: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > MAX_DEPTH) return [];
  if (schema.$ref !== undefined) {
    const target = root.$defs?.[schema.$ref.split("/").at(-1) ?? ""];
    return target ? alternatives(root, target, depth + 1) : [];
  }
  const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [schema, ...inner.flatMap((each) => alternatives(root, each, depth + 1))];
}

/** The schemas that the value at a path may have; names of list items are numbers. */
function schemasAt(root: Schema, path: readonly string[]): Schema[] {
  let found = alternatives(root, root);
  for (const name of path) {
    found = found.flatMap((each) => {
      const inner = each.properties?.[name] ?? matching(each, name) ?? each.items;
      return typeof inner === "object" ? alternatives(root, inner) : [];
    });
  }
  return found;
}

function matching(schema: Schema, name: string): Schema | undefined {
  const { patternProperties = {}, additionalProperties } = schema;
  const found = Object.entries(patternProperties).find(([pattern]) =>
    new RegExp(pattern, "u").test(name),
  );
  if (found !== undefined) return found[1];
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

export interface FieldOption {
  name: string;
  detail: string;
  info: string;
}

/** The fields that the object at a path may have. */
export function fieldsAt(root: Schema, path: readonly string[]): FieldOption[] {
  const options = new Map<string, FieldOption>();
  for (const schema of schemasAt(root, path)) {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      if (options.has(name)) continue;
      const forms = alternatives(root, field);
      const types = forms.flatMap(({ type }) => type ?? []).filter((each) => each !== "null");
      const info = forms.find(({ description }) => description)?.description ?? "";
      options.set(name, { name, detail: [...new Set(types)].join(" or "), info });
    }
  }
  return [...options.values()];
}

/** The values that the schema lists for a path. */
export function valuesAt(root: Schema, path: readonly string[]): unknown[] {
  const values = schemasAt(root, path).flatMap((each) =>
    each.const !== undefined
      ? [each.const]
      : (each.enum ?? (each.type === "boolean" ? [true, false] : [])),
  );
  return [...new Set(values)].filter((each) => each !== null);
}
