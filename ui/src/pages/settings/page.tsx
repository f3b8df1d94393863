import { Navigate } from "@tanstack/react-router";

/** Redirects to the settings page that everybody has. */
export default function Settings() {
  return <Navigate to="/settings/sessions" replace />;
}
