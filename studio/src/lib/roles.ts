/** Which pages a role opens; the service checks every request itself. */

export type Role = "owner" | "member" | "reviewer";

const OWNER_PAGES = new Set(["people", "audit"]);

export function mayOpen(role: Role, page: string): boolean {
  if (role === "reviewer") return page === "reviews";
  return role === "owner" || !OWNER_PAGES.has(page);
}

/** Where somebody begins. */
export function firstPage(role: Role): string {
  return role === "reviewer" ? "reviews" : "home";
}

export const ROLES: readonly (readonly [role: Role, meaning: string])[] = [
  ["owner", "Owner: everything"],
  ["member", "Member: everything except people, the audit log and keys of others"],
  ["reviewer", "Reviewer: only review tasks"],
];
