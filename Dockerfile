# A decision service: docker build -t marginbandits . && docker run -v shop:/data -p 127.0.0.1:8080:8080 marginbandits
# It listens beyond its container, so it needs a key first:
#   docker run -v shop:/data marginbandits keys make --data /data --scope admin --new
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir -c constraints.txt ".[serve]" \
    && /venv/bin/python -m compileall -q /venv

FROM python:3.12-slim
COPY --from=build /venv /venv
RUN useradd --uid 10001 --create-home service && mkdir /data && chown service /data
USER service
ENV PATH=/venv/bin:$PATH NUMBA_CACHE_DIR=/home/service/kernels
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/health', timeout=5)"]
ENTRYPOINT ["marginbandits"]
CMD ["serve", "--data", "/data", "--host", "0.0.0.0"]
