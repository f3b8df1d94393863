import { Navigate } from "@tanstack/react-router";

/** Leads to the page of the settings that everybody has. */
export default function Settings() {
  return <Navigate to="/settings/sessions" replace />;
}
