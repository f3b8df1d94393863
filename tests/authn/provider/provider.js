// An identity provider for the tests: `oidc-provider` with three clients and two people.
//
//   node provider.js PORT REDIRECT_URL

import Provider from "oidc-provider";

const [port, redirectUrl] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const GROUPS = { ana: ["stewards"], admin: ["stewards"] };

const client = (id, more) => ({
  client_id: id,
  redirect_uris: [redirectUrl],
  grant_types: ["authorization_code"],
  response_types: ["code"],
  ...more,
});

const provider = new Provider(issuer, {
  clients: [
    client("pages", { client_secret: "a secret of the tests" }),
    client("public", { token_endpoint_auth_method: "none" }),
  ],
  claims: { openid: ["sub", "groups"] },
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, groups: GROUPS[id] ?? [] }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
