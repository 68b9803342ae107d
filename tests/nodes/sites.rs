//! What web servers serve and log.

use kubestep_tests::scenario;

/// What these lines print where a client and a Pod `web` of this image run, the latter with these volumes.
fn session(image: &str, mounts: &str, lines: &[&str]) -> String {
    let web = format!("containers: [{{name: c, image: '{image}'{mounts}");
    let mut timeline = vec![
        "kubectl apply -f all.yaml",
        "kubectl wait --for=condition=Ready pod/web pod/client --timeout=60s",
        "web=$(kubectl get pod web -o jsonpath={.status.podIP})",
    ];
    timeline.extend(lines);
    let timeline: String = timeline.iter().map(|line| format!("  - {line:?}\n")).collect();
    let text = format!(
        "title: t\nnodes: 1\nfiles:\n  all.yaml: |\n    apiVersion: v1\n    kind: Pod\n    metadata: {{name: web}}\n    \
         spec: {{{web}}}\n    ---\n    apiVersion: v1\n    kind: Pod\n    metadata: {{name: client}}\n    \
         spec: {{containers: [{{name: c, image: alpine, command: [sleep, infinity]}}]}}\ntimeline:\n{timeline}"
    );
    scenario::settled(&text, 600).kubectl.printed_since(0)
}

#[test]
fn nginx_serves_its_files_and_logs_who_asks() {
    let said = session(
        "nginx:1.27",
        "}]",
        &[
            "kubectl exec web -- ls /usr/share/nginx/html",
            "kubectl exec web -- cat /usr/share/nginx/html/index.html",
            "curl $web --from client",
            "curl $web/none --from client",
            "kubectl exec web -- sh -c 'echo v2 > /usr/share/nginx/html/index.html'",
            "curl $web/ --from client",
            "kubectl exec web -- rm /usr/share/nginx/html/index.html",
            "curl -o /dev/null -w 'code %{http_code}' $web --from client",
            "kubectl logs web --tail=6",
        ],
    );
    for expected in [
        "50x.html\nindex.html\n",
        "<h1>Welcome to nginx!</h1>",
        "default/web on node-1 answers GET /\n",
        "<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx/1.27</center>",
        "--from client\nv2\n",
        "code 403",
        "open() \"/usr/share/nginx/html/none\" failed (2: No such file or directory), client: 10.244.0.",
        "] \"GET /none HTTP/1.1\" 404 ",
        "] \"GET / HTTP/1.1\" 200 3 \"-\" \"curl/",
        "directory index of \"/usr/share/nginx/html/\" is forbidden",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn a_volume_over_the_files_of_a_server_hides_them() {
    let mounts = |path: &str| {
        format!(", volumeMounts: [{{name: v, mountPath: {path}}}]}}], volumes: [{{name: v, emptyDir: {{}}}}]")
    };
    let nginx = session(
        "nginx:1.27",
        &mounts("/usr/share/nginx/html"),
        &[
            "kubectl exec web -- ls /usr/share/nginx/html",
            "curl -o /dev/null -w 'code %{http_code}' $web --from client",
            "kubectl exec web -- sh -c 'echo mine > /usr/share/nginx/html/index.html'",
            "curl $web --from client",
        ],
    );
    assert!(nginx.contains("code 403") && nginx.contains("--from client\nmine\n"), "{nginx}");
    assert!(!nginx.contains("50x.html"), "{nginx}");
    let httpd = session(
        "httpd:2.4",
        &mounts("/usr/local/apache2/htdocs"),
        &["curl $web --from client", "kubectl logs web --tail=1"],
    );
    assert!(httpd.contains("<title>Index of /</title>") && httpd.contains("\"GET / HTTP/1.1\" 200 "), "{httpd}");
}
