/**
 * The options of the election service, as a program passes them to `TenureServer.open`. `parsed-options.ts` checks them and
 * fills in the defaults. `tenure serve` has a flag for each option, and turns the text of its flags into these values.
 */

/** The least severe log lines that are written. `silent` writes none. */
export type LogLevel = "silent" | "error" | "warn" | "info" | "debug";

/** A version of TLS, as in `tlsMinVersion`. */
export type TlsVersionNumber = "1.2" | "1.3";

/**
 * Options of `TenureServer.open`. All of them may be left out; `undefined` is the same as leaving an option out.
 *
 * An unknown key, a value of the wrong type or out of range, and options that contradict each other are refused with
 * `InvalidRequestError`, whose `field` is the name of the option. So is a file that cannot be read or parsed when the server
 * starts; its `field` is then the path of the file.
 */
export interface TenureServerOptions {
  /**
   * Address of the HTTP API, as `HOST:PORT`: `127.0.0.1:7420`, `[::1]:7420`. Port 0 picks a free port, which `url` of the server
   * shows. An address that other machines can reach is refused without authentication, and with bearer tokens but without TLS;
   * see `insecure`. An address that is in use, or that is not an address of this machine, is refused.
   *
   * @defaultValue `"127.0.0.1:7420"`
   */
  readonly listen?: string | undefined;
  /**
   * Address of the gRPC API, as `HOST:PORT`. The rules of `listen` hold here too, and gRPC uses the same TLS files.
   *
   * @defaultValue none: gRPC is not served
   */
  readonly grpc?: string | undefined;
  /**
   * URL of the store: `embedded:DIRECTORY`, `memory:`, or that of PostgreSQL, etcd, ZooKeeper or NATS. A URL of no known kind is
   * refused. A store that cannot be reached is not an error: requests are answered with `BACKEND_UNAVAILABLE` until it can be.
   * Not used if a store is passed to `TenureServer.open`.
   *
   * @defaultValue `"embedded:./tenure-data"`
   */
  readonly store?: string | undefined;

  /**
   * File of the server's certificate, in PEM, followed by its intermediate certificates. With `tlsKey` the server speaks TLS only.
   * A change of the file takes effect on new connections. Refused without `tlsKey`.
   *
   * @defaultValue none: plain HTTP
   */
  readonly tlsCert?: string | undefined;
  /** File of the private key of `tlsCert`, in PEM. Refused without `tlsCert`. @defaultValue none: plain HTTP */
  readonly tlsKey?: string | undefined;
  /**
   * File of the CA certificates, in PEM, that sign client certificates. A client that presents a valid certificate is
   * authenticated by it. Refused without `tlsCert` and `tlsKey`.
   *
   * @defaultValue none: client certificates are not asked for
   */
  readonly tlsClientCa?: string | undefined;
  /**
   * One file with the private key, the certificate and the client CA, as `tenure ca issue server` writes it. It replaces `tlsCert`,
   * `tlsKey` and `tlsClientCa`, and is refused together with any of them.
   *
   * @defaultValue none
   */
  readonly bundle?: string | undefined;
  /**
   * File of the revocation lists of the client CAs, in PEM. A change of the file takes effect on new connections and on open
   * ones. The file must hold a list of every CA in the chains of client certificates, and connections with a client certificate
   * are refused once a list is past its next update. Refused without `tlsClientCa` or `bundle`.
   *
   * @defaultValue none: client certificates are valid until they expire
   */
  readonly tlsCrl?: string | undefined;
  /**
   * The oldest version of TLS that is accepted, over HTTPS and gRPC. Refused without `tlsCert` or `bundle`.
   *
   * @defaultValue `"1.2"`
   */
  readonly tlsMinVersion?: TlsVersionNumber | undefined;
  /**
   * The ciphers that are accepted, as an OpenSSL cipher list. The ciphers of TLS 1.3 begin with `TLS_`; a list without one of them
   * turns TLS 1.3 off. A list of which OpenSSL knows no cipher is refused, and so is the option without `tlsCert` or `bundle`.
   *
   * @defaultValue authenticated encryption with forward secrecy: AES-GCM and ChaCha20-Poly1305, with ECDHE
   */
  readonly tlsCiphers?: string | undefined;
  /**
   * The trust domain of the client certificates to accept, such as `prod.example.org`, without `spiffe://`. Refused without
   * `tlsClientCa` or `bundle`.
   *
   * @defaultValue the trust domain of the server's own certificate; if that certificate names none, the server does not start
   */
  readonly trustDomain?: string | undefined;

  /**
   * The keys that verify JWTs: the URL or the file of a JWKS. Callers that send a JWT signed by one of them are authenticated by
   * it. A URL with a user name or a password is refused, and so is a file that is not a JWKS. A URL that does not answer is not an
   * error: tokens are answered with `BACKEND_UNAVAILABLE` until it does.
   *
   * @defaultValue none: JWTs are not accepted
   */
  readonly jwtJwks?: string | undefined;
  /**
   * Accept only JWTs with this `iss`. Refused without `jwtJwks`.
   *
   * @defaultValue JWTs of any issuer
   */
  readonly jwtIssuer?: string | undefined;
  /**
   * Accept only JWTs with this `aud`. Refused without `jwtJwks`.
   *
   * @defaultValue JWTs for any audience, with a warning in the log: tokens issued for other services are accepted too
   */
  readonly jwtAudience?: string | undefined;
  /**
   * The longest lifetime of a JWT, in seconds. A token that expires later than this from now is refused, and so is a token whose
   * `iat` and `exp` are further apart. 0: no limit. Refused without `jwtJwks`.
   *
   * @defaultValue 86400
   */
  readonly jwtMaxAgeSeconds?: number | undefined;
  /**
   * Seconds between two fetches of a JWKS at a URL, at least 10. A key that was withdrawn is accepted for this long, while the URL
   * answers. Refused without `jwtJwks`.
   *
   * @defaultValue 300
   */
  readonly jwtKeyRefreshSeconds?: number | undefined;
  /**
   * Seconds for which the keys of a URL stay in use while the URL does not answer. After them tokens are answered with
   * `BACKEND_UNAVAILABLE`. 0: no limit. Any other value below `jwtKeyRefreshSeconds` is refused, and so is the option without
   * `jwtJwks`.
   *
   * @defaultValue 86400, or `jwtKeyRefreshSeconds` if that is longer
   */
  readonly jwtKeyMaxAgeSeconds?: number | undefined;
  /**
   * File of the admin token, of at least 16 characters. A caller that sends it as bearer token is an admin. A change of the file
   * takes effect without a restart; while the file is missing or empty, no admin token is accepted.
   *
   * @defaultValue none: there is no admin token
   */
  readonly adminTokenFile?: string | undefined;
  /**
   * Allow, on an address that other machines can reach, that no authentication is configured (every caller is an admin then), or
   * that bearer tokens arrive in clear text. A warning is logged at the start.
   *
   * @defaultValue `false`
   */
  readonly insecure?: boolean | undefined;
  /**
   * Names that the `Host` header of a request may have, without scheme and port, in addition to those that are always accepted.
   * `"*"` accepts every name. An empty list is refused.
   *
   * @defaultValue with authentication every name; without it loopback names and addresses, and with `insecure` on another address
   * also every address and every name without a dot
   */
  readonly allowedHosts?: readonly string[] | undefined;

  /**
   * File of the Ed25519 private key that signs mandates. A change of the file takes effect without a restart.
   *
   * @defaultValue none: mandates are not issued
   */
  readonly signingKey?: string | undefined;
  /**
   * The least severe log lines that are written. Not used if a logger is passed to `TenureServer.open`.
   *
   * @defaultValue `"info"`
   */
  readonly logLevel?: LogLevel | undefined;
  /**
   * File that the audit log is appended to, as a hash chain. It is created with mode 0600; a file that cannot be written is refused.
   * Each server needs its own file. `logLevel` has no effect on the audit log.
   *
   * @defaultValue none: the audit log goes to standard error, like the log
   */
  readonly auditLog?: string | undefined;
  /**
   * Seconds between two log lines with the head of the hash chain in `auditLog`, at least 1. They are written at level `info`, if
   * the head has changed, and when the server stops. Refused without `auditLog`.
   *
   * @defaultValue none: the head is not logged
   */
  readonly auditHeadSeconds?: number | undefined;
  /**
   * URLs that are sent changes of leaders and findings of the attention list, as signed POST requests. `https:`, or `http:` to a
   * loopback address; `insecure` allows every `http:` URL. Refused without `webhookSecretFile`.
   *
   * @defaultValue none
   */
  readonly webhooks?: readonly string[] | undefined;
  /**
   * File of the secret that signs webhooks, at least 16 characters. Read when the server starts. Refused without `webhooks`.
   *
   * @defaultValue none
   */
  readonly webhookSecretFile?: string | undefined;
  /**
   * Refuse campaigns for groups that were not created first, with `GROUP_NOT_FOUND`.
   *
   * @defaultValue `false`: the first campaign for a group creates it
   */
  readonly explicitGroups?: boolean | undefined;

  /**
   * Requests per second and caller, over HTTP and gRPC together. A caller that sends more gets `RATE_LIMITED`. 0: no limit.
   *
   * @defaultValue 1000; no limit if `listen` is a loopback address and no authentication is configured
   */
  readonly rateLimit?: number | undefined;
  /**
   * Groups that may exist at once, at least 1. The last hundredth is reserved for admins. A request that would create one more gets
   * `TOO_MANY_GROUPS`; groups that exist are not affected.
   *
   * @defaultValue 100000: about 250 MB of memory without metadata, 2 GB if every leader has 4 KiB of it
   */
  readonly maxGroups?: number | undefined;
  /**
   * Groups that one node may create by campaigning, and that exist at the same time; at least 1. Groups that an admin created or
   * configured do not count. A campaign that would create one more gets `TOO_MANY_GROUPS`.
   *
   * @defaultValue 10000
   */
  readonly maxGroupsPerNode?: number | undefined;
  /**
   * Connections that may be open at once, on all ports together, at least 1. One more is closed at once, and logged.
   *
   * @defaultValue the limit of open files minus 128, at most 65536; 10000 if the limit of open files is not known
   */
  readonly maxConnections?: number | undefined;
  /**
   * Watches that may be open at once, at least 1. A twentieth of them is reserved for admins. One more gets `TOO_MANY_WAITING`.
   *
   * @defaultValue 50000
   */
  readonly maxWatches?: number | undefined;
  /**
   * Watches that one caller may have open at once, at least 1 and at most `maxWatches`. Admins are not limited by it.
   *
   * @defaultValue half of `maxWatches`
   */
  readonly maxWatchesPerCaller?: number | undefined;
  /**
   * Campaigns that may wait at once, at least 1. A twentieth of them is reserved for admins. One more gets `TOO_MANY_WAITING`.
   *
   * @defaultValue 50000
   */
  readonly maxWaiting?: number | undefined;
  /**
   * Campaigns of one caller that may wait at once, at least 1 and at most `maxWaiting`. Admins are not limited by it.
   *
   * @defaultValue half of `maxWaiting`
   */
  readonly maxWaitingPerCaller?: number | undefined;
}
