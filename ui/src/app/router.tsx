import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from "@tanstack/react-router";

import { known, parseSearch, stringifySearch } from "./address";
import { Shell } from "./shell";
import { Missing } from "./missing";

const root = createRootRoute({ component: Shell, notFoundComponent: Missing });

/** A route below `/ui`, the module of its page, and the search parameters that it keeps. */
function page<const Path extends string, const Keys extends string>(
  path: Path,
  load: () => Promise<{ default: RouteComponent }>,
  ...keys: Keys[]
) {
  return createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load),
    validateSearch: (search: Record<string, unknown>) => known(search, keys),
  });
}

const routes = [
  page("/", () => import("../pages/overview/page")),
  page("/ask", () => import("../pages/ask/may"), "realm", "who", "do", "on"),
  page("/ask/who", () => import("../pages/ask/who"), "realm", "do", "on"),
  page("/ask/what", () => import("../pages/ask/what"), "realm", "who", "do", "within"),
  page("/ask/compare", () => import("../pages/ask/compare"), "realm", "a", "b", "do", "within"),
  page("/ask/denials", () => import("../pages/ask/denials"), "realm", "who", "id"),
  page("/assets", () => import("../pages/assets/tree"), "realm", "within"),
  page(
    "/asset",
    () => import("../pages/assets/asset"),
    ...(["realm", "e", "tab", "rows", "columns"] as const),
  ),
  page("/people", () => import("../pages/people/list"), "realm", "kind", "q"),
  page("/principal", () => import("../pages/people/principal"), "realm", "p"),
  page(
    "/r/$realm/statements",
    () => import("../pages/statements/list"),
    ...(["to", "privilege", "q", "effect", "sort"] as const),
  ),
  page("/r/$realm/statement", () => import("../pages/statements/statement"), "id"),
  page("/r/$realm/limit", () => import("../pages/statements/limit-page"), "id", "kind"),
  page(
    "/r/$realm/policies",
    () => import("../pages/policies/list"),
    ...(["q", "state", "type", "actor", "privilege", "about", "sort"] as const),
  ),
  page("/r/$realm/policy", () => import("../pages/policies/page"), "urn"),
  page(
    "/r/$realm/policy/new",
    async () => ({ default: (await import("../pages/policies/page")).NewPolicy }),
    "from",
  ),
  page("/r/$realm/roles", () => import("../pages/gravitino/roles"), "q"),
  page("/r/$realm/role", () => import("../pages/gravitino/role"), "name"),
  page("/r/$realm/owners", () => import("../pages/gravitino/owners"), "e"),
  page("/r/$realm/privileges", () => import("../pages/cdap/privileges"), "on", "to"),
  page(
    "/r/$realm/matrix",
    () => import("../pages/matrix/page"),
    ...(["ask", "type", "within", "against"] as const),
  ),
  page("/r/$realm/plan", () => import("../pages/plan/page")),
  page(
    "/findings",
    () => import("../pages/findings/page"),
    ...(["realm", "rule", "severity", "left", "since"] as const),
  ),
  page(
    "/audit",
    () => import("../pages/audit/page"),
    ...(["realm", "actor", "operation", "outcome", "target", "q", "from", "until"] as const),
  ),
  page("/realms", () => import("../pages/realms/list")),
  page("/realm", () => import("../pages/realms/realm"), "name", "tab"),
  page("/targets", () => import("../pages/targets/list"), "realm"),
  page("/target", () => import("../pages/targets/target"), "realm", "name"),
  page("/links", () => import("../pages/realms/links"), "realm"),
  page("/links/suggestions", () => import("../pages/realms/suggestions"), "realm", "other"),
  page("/playground", () => import("../pages/playground/page")),
  page("/settings", () => import("../pages/settings/page")),
  page("/settings/server", () => import("../pages/settings/server"), "q"),
  page("/settings/health", () => import("../pages/settings/health")),
  page("/settings/sessions", () => import("../pages/settings/sessions")),
  page("/settings/tokens", () => import("../pages/settings/tokens")),
  page("/settings/about", () => import("../pages/settings/about")),
] as const;

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: "/ui",
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
