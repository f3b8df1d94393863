import { useQuery } from "@tanstack/react-query";

import { $api, problemOf } from "../../api/client";
import { Card } from "../../parts/page";
import { Loading, ProblemView } from "../../parts/states";
import { t } from "../../words";
import { SettingsFrame } from "./frame";
import styles from "./settings.module.css";

interface Licence {
  name: string;
  version: string;
  licence: string;
  text: string;
}

/** The release, and the licences of everything that the pages bundle. */
export default function About() {
  const described = $api.useQuery("get", "/openapi.json" as never, {} as never, {
    staleTime: Infinity,
  });
  const release = (described.data as { info?: { version?: string } } | undefined)?.info?.version;
  const licences = useQuery({
    queryKey: ["licences"],
    queryFn: async ({ signal }) => {
      const response = await fetch("/ui/licences.json", { signal });
      if (!response.ok) throw problemOf(undefined, response.status) as unknown as Error;
      return (await response.json()) as Licence[];
    },
    staleTime: Infinity,
    retry: false,
  });
  return (
    <SettingsFrame title={t("About")}>
      <div className={styles.stack}>
        <Card title={t("lakewarden")}>
          <p>
            {t("Release {release}, under the Apache License 2.0.", { release: release ?? "–" })}
          </p>
        </Card>
        <Card
          title={t("What the pages bundle")}
          note={
            licences.data &&
            t("{n, plural, one {# package} other {# packages}}", { n: licences.data.length })
          }
          pad={false}
        >
          {licences.isPending && <Loading rows={10} />}
          {licences.error && (
            <ProblemView
              problem={problemOf(licences.error)}
              onRetry={() => void licences.refetch()}
            />
          )}
          <ul className={styles.licences}>
            {licences.data?.map((one) => (
              <li key={one.name + one.version}>
                {one.text ? (
                  <details>
                    <summary>
                      <Title licence={one} />
                    </summary>
                    <pre>{one.text}</pre>
                  </details>
                ) : (
                  <Title licence={one} />
                )}
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </SettingsFrame>
  );
}

function Title({ licence }: { licence: Licence }) {
  return (
    <>
      <code>{licence.name}</code> {licence.version} <span>{licence.licence}</span>
    </>
  );
}
