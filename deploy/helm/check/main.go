// Command check reads Kubernetes manifests from standard input, and decodes each into the type of its kind. An unknown member, a value
// of a wrong type, or an unknown kind is an error. It is a module of its own, because only this check needs the types of Kubernetes.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// kinds are the kinds that the chart may contain, by apiVersion and kind.
var kinds = map[string]func() any{
	"v1 ConfigMap":                  func() any { return &corev1.ConfigMap{} },
	"v1 PersistentVolumeClaim":      func() any { return &corev1.PersistentVolumeClaim{} },
	"v1 Service":                    func() any { return &corev1.Service{} },
	"v1 ServiceAccount":             func() any { return &corev1.ServiceAccount{} },
	"apps/v1 Deployment":            func() any { return &appsv1.Deployment{} },
	"policy/v1 PodDisruptionBudget": func() any { return &policyv1.PodDisruptionBudget{} },
	// The types of the Prometheus operator have many dependencies. These are the members that the chart uses.
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &serviceMonitor{} },
}

type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Interval string `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

func main() {
	if err := check(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(r io.Reader) error {
	documents := yamlutil.NewYAMLReader(bufio.NewReader(r))
	n := 0
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var meta metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(text, &meta); err != nil {
			return fmt.Errorf("document %d: %w", n+1, err)
		}
		if meta.Kind == "" {
			continue // only comments
		}
		kind := meta.APIVersion + " " + meta.Kind
		fresh, ok := kinds[kind]
		if !ok {
			return fmt.Errorf("%s %s: unknown kind: add it to deploy/helm/check", kind, meta.Name)
		}
		object := fresh()
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			return fmt.Errorf("%s %s: %w", kind, meta.Name, err)
		}
		if d, ok := object.(*appsv1.Deployment); ok {
			if err := restricted(d.Spec.Template.Spec); err != nil {
				return fmt.Errorf("%s %s: %w", kind, meta.Name, err)
			}
		}
		n++
	}
	if n == 0 {
		return errors.New("no manifests")
	}
	fmt.Printf("%d manifests are valid\n", n)
	return nil
}

// restricted checks what the Pod Security Standard "restricted" requires, and a read-only root file system.
func restricted(pod corev1.PodSpec) error {
	yes := func(b *bool) bool { return b != nil && *b }
	if s := pod.SecurityContext; s == nil || !yes(s.RunAsNonRoot) || s.SeccompProfile == nil ||
		s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		return errors.New("the pod must run without root and with the seccomp profile RuntimeDefault")
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !yes(s.ReadOnlyRootFilesystem) ||
			s.Capabilities == nil || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
			return fmt.Errorf("container %s: a read-only root file system, no capabilities and no privilege escalation are required", c.Name)
		}
		if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.Resources.Requests == nil {
			return fmt.Errorf("container %s: probes and requests of resources are required", c.Name)
		}
	}
	return nil
}
