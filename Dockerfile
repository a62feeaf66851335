# syntax=docker/dockerfile:1
# Build: docker build -t domain-steward .
# The default image needs your own PostgreSQL (DATABASE_URL). To include the embedded one, with its data in the volume /data:
#   docker build --target embedded -t domain-steward:embedded .
# The demo and its packages are never copied. Development packages are only in the build stage.

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/embedded-postgres/package.json packages/embedded-postgres/
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY prisma prisma
COPY packages/embedded-postgres packages/embedded-postgres
COPY src src
COPY scripts/build.mjs scripts/
RUN npm run generate && npx tsc -b src && node scripts/build.mjs --signing-page

# npm packages can't contain the symlinks between PostgreSQL's libraries.
FROM build AS postgres
RUN node node_modules/@embedded-postgres/linux-*/scripts/hydrate-symlinks.js

# This also removes @prisma/client's peer dependencies, which aren't needed at run time.
FROM build AS program
RUN npm prune --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-slim AS embedded
ENV NODE_ENV=production DATA_DIR=/data
WORKDIR /app
RUN install -d -o node -g node /data
COPY --from=program --chown=root:root /app/package.json ./
COPY --chown=root:root manifest.yml ./
COPY --from=program --chown=root:root /app/node_modules node_modules
COPY --from=postgres --chown=root:root /app/node_modules/@embedded-postgres node_modules/@embedded-postgres
COPY --from=program --chown=root:root /app/packages/embedded-postgres/package.json packages/embedded-postgres/
COPY --from=program --chown=root:root /app/packages/embedded-postgres/dist packages/embedded-postgres/dist
COPY --from=program --chown=root:root /app/prisma prisma
COPY --from=program --chown=root:root /app/dist dist
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=15s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 3000}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT []
CMD ["node", "dist/main.js"]

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
# A volume for BACKUP_DIR inherits this owner.
RUN install -d -o node -g node /backups
COPY --from=program --chown=root:root /app/package.json ./
COPY --chown=root:root manifest.yml ./
COPY --from=program --chown=root:root /app/node_modules node_modules
COPY --from=program --chown=root:root /app/packages/embedded-postgres/package.json packages/embedded-postgres/
COPY --from=program --chown=root:root /app/packages/embedded-postgres/dist packages/embedded-postgres/dist
COPY --from=program --chown=root:root /app/prisma prisma
COPY --from=program --chown=root:root /app/dist dist
USER node
EXPOSE 3000
HEALTHCHECK --interval=15s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT ?? 3000}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# No shell, so that SIGTERM reaches Node.
ENTRYPOINT []
CMD ["node", "dist/main.js"]
