import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "./look/tokens.css";
import "./look/base.css";

import { CSPProvider } from "@base-ui/react/csp-provider";
import { I18nProvider } from "@lingui/react";
import { i18n } from "@lingui/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { applyPreferences } from "./parts/preferences";
import { takeFragment } from "./parts/fragment";
import { router } from "./app/router";
import { SessionGate } from "./app/session";
import { problemOf } from "./api/client";

applyPreferences();

// The address after a login may have had a fragment, which the server never sees.
const here = location.pathname + location.search;
const fragment = location.hash ? "" : takeFragment(here);
if (fragment) router.history.replace(here + fragment);

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // A refusal is final; a failure of the store is worth a retry.
      retry: (times, error) => {
        const { status } = problemOf(error);
        return times < 2 && (status === 0 || status === 503);
      },
      refetchOnWindowFocus: false,
    },
  },
});

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <I18nProvider i18n={i18n}>
        <QueryClientProvider client={queries}>
          <SessionGate>
            <RouterProvider router={router} />
          </SessionGate>
        </QueryClientProvider>
      </I18nProvider>
    </CSPProvider>
  </StrictMode>,
);
